"""The twin of pointwise_chain_tile is PyTorch's eager chain."""

from pointwise_chain import make

__all__ = ["make"]
