"""The databases of sites."""
