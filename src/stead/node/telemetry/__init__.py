"""Sends what the node records about its sites to the control plane."""
