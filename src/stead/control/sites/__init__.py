"""Sites: created, served, restarted, transferred, deleted and recovered."""
