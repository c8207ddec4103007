"""Writes the golden texts of generated kernels anew: `./dev golden` runs this; look at the diff before you commit."""

import os
import pathlib
import subprocess

root = pathlib.Path(__file__).resolve().parents[3]
program = root / "build/release/tests/test_compile"
subprocess.run([program, "[golden]"], env={**os.environ, "TARN_WRITE_GOLDEN": "1"}, check=True)
