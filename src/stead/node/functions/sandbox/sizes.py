"""How large functions may be."""

MAX_SOURCE, MAX_COMPILED = 32 << 20, 96 << 20
"""What is compiled stays on the disk of the node, for each version."""
