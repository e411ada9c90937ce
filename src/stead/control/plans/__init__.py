"""Plans: what an account or a team may have, and whether there is room for one more."""
