"""From a git ref to a release and back, observed from outside, on real engines."""
