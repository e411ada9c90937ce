"""The agent on every host that carries sites, and the drivers it works with."""
