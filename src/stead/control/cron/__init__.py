"""Scheduled events of sites."""
