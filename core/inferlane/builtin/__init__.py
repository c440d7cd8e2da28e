"""What the core ships, as plugins through the same entry points and hooks as everyone else's."""
