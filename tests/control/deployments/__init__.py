"""Deployments through the API."""
