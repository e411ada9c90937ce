"""Domains: the names under which the environments of a site are served, and the proof of who has them."""
