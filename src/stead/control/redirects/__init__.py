"""Redirects of a site: replaced as a whole set, matched at the edges."""
