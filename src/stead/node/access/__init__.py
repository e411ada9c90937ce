"""Who may enter the environments of this node over SSH."""
