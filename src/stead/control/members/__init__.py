"""Who belongs to a team, and as what."""
