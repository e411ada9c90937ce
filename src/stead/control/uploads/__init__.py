"""Uploads: what a customer hands in to be built, kept until it was."""
