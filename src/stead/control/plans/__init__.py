"""Plans: the quotas of an account or a team, and how much of them is used."""
