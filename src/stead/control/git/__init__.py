"""How a site is connected to its repository: branch routes, the secret of its hook, its deploy key."""
