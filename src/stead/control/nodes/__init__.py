"""The nodes of this cell: which are up, which carries what, where the next environment goes."""
