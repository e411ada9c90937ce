"""The vocabulary every program speaks. Nothing here does I/O."""
