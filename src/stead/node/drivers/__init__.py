"""The drivers of a node, one file per engine. The simulator has drivers of its own: `simulator.py`."""
