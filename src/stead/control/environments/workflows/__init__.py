"""The jobs of environments: their steps, each next to its undo."""
