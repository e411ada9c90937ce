"""Hypothesis has no time limit, because other tests run on the same processors."""

from hypothesis import settings

settings.register_profile("engines", deadline=None)
settings.load_profile("engines")
