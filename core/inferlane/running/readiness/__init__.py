"""Whether every worker may take traffic."""
