"""The edges of a region as a whole: two machines, a network, and the control plane beside."""
