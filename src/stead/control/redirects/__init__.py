"""Redirects of a site: replaced as a whole, matched at the edge."""
