"""Deployments through the API: who may make them, and of what."""
