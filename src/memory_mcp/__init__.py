"""A memory for agents that stays coherent when the user goes back on a decision."""

__all__ = ["__version__"]

__version__ = "0.1.0"
