"""Vulnerabilities of WordPress, plugins and themes: the feed, the inventory of sites, and what matches."""
