"""Sites: what everything else is for."""
