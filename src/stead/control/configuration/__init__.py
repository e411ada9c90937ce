"""How a site and its environments are configured: kept sparsely, read as a whole."""
