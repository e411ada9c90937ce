"""Snapshots of sites: what all runtimes share. Each is stored by restic in the repository of its site."""
