"""Prints what the safetensors package reads from a file: metadata, then name, dtype, shape and the first values."""

import sys

from safetensors import safe_open

with safe_open(sys.argv[1], "np") as f:
    for key, value in sorted((f.metadata() or {}).items()):
        print("metadata", key, value)
    for name in sorted(f.keys()):
        x = f.get_tensor(name)
        print(name, x.dtype, list(x.shape), x.reshape(-1)[:3].tolist())
