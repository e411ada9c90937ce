"""Requests, logs and metrics of sites."""
