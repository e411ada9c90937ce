"""Stead: a hosting platform that anyone can run."""
