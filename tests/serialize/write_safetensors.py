"""Writes a file with the safetensors package, for Tarn to read."""

import sys

import numpy as np
from safetensors.numpy import save_file

save_file(
    {
        "float": np.arange(6, dtype=np.float32).reshape(2, 3),
        "half": np.array([1.5, -2], dtype=np.float16),
        "double": np.array([0.1]),
        "long": np.array(-7, dtype=np.int64),
        "int": np.array([1 << 30], dtype=np.int32),
        "short": np.array([-300], dtype=np.int16),
        "char": np.array([-3], dtype=np.int8),
        "byte": np.array([200], dtype=np.uint8),
        "bool": np.array([True, False]),
        "empty": np.zeros((0, 3), dtype=np.float32),
    },
    sys.argv[1],
    metadata={"made by": "python"},
)
