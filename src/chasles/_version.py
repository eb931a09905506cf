"""The version of Chasles."""

__version__ = "0.1.0"
