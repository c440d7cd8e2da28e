"""Launch distributed LLM inference from one recipe. Plugin authors import from :mod:`inferlane.api`."""

__version__ = "0.1.0"
