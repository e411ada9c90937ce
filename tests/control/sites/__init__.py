"""Sites through the API."""
