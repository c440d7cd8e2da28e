"""The run directory and the files in it."""
