"""The twin of compiled_step is PyTorch's eager step."""

from demo_step import make

__all__ = ["make"]
