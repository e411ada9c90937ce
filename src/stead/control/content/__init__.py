"""Posts, pages and media of sites."""
