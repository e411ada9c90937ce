"""Teams: who owns sites together."""
