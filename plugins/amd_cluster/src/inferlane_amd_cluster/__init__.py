"""AMD Instinct accelerators for inferlane."""
