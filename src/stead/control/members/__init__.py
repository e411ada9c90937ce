"""The members of a team and their roles."""
