"""Jobs: what could not be done at once."""
