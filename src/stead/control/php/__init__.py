"""The version of PHP that a WordPress site runs on."""
