"""What the edge of this node is told: from NATS into a store of its own, and from there to nginx."""
