"""llama.cpp for inferlane."""
