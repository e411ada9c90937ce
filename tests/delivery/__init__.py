"""From a build to what visitors see, on a complete installation."""
