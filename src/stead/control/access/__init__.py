"""How people and their tools get into a site: sign-in links, passwords, keys."""
