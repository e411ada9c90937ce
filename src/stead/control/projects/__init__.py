"""Projects: a person's own groups of sites, and the use cases that team projects share."""
