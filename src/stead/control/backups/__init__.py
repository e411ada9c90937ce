"""Snapshots of sites: taken, verified, kept as long as the plan says, and restored."""
