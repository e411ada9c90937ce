"""The nodes of this cell: their heartbeats, their commands, and the placement of environments."""
