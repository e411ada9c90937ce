"""The drivers of a node, one file per engine. The simulator is one of them."""
