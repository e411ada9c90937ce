"""A free account that attacks what tenants share, its neighbour, and the size of the engines."""
