"""What runs functions: the same modules as on a node."""
