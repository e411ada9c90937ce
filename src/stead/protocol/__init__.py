"""What the control plane, the nodes and the edge say to one another."""
