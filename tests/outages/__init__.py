"""Engines that lose their data or their disk, and nodes that never come back."""
