"""The JSON shapes of insights, with a module for each view."""
