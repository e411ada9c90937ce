"""Types and rules that all programs share. Nothing here does I/O."""
