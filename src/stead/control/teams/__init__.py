"""Teams, which own sites together."""
