"""Deployments: which artifact an environment shows, since when, and what it showed before."""
