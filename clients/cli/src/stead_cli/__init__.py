"""The command line client of Stead."""

__version__ = "0.1.0"
