"""The twin of pointwise_chain_native is PyTorch's eager chain."""

from pointwise_chain import make

__all__ = ["make"]
