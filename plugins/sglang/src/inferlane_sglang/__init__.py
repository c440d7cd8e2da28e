"""SGLang as engine, and its routers for inferlane."""
