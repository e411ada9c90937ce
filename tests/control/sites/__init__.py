"""Sites through the API: what may be one, whose it is, and how it comes and goes."""
