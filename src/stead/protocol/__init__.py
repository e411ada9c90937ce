"""Messages between the control plane, the nodes and the edge."""
