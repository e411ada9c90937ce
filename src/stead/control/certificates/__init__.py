"""Certificates of the sites' domains: asked for, proved, kept, renewed, and said why where there is none."""
