"""Deployments: which artifact an environment serves, and which it served before."""
