"""Projects: groups of sites of an account or a team."""
