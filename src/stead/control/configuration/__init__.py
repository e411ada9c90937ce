"""Configuration of sites and environments. Only the settings that were changed are stored."""
