"""From a git ref to a release and back, seen from outside, with everything real."""
