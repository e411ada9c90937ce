"""The users of sites, in WordPress."""
