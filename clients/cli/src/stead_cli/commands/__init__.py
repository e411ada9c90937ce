"""The commands that are written by hand: one module for those that belong together."""
