"""Sample greetings for the suites that cover every operation."""

from tests.feature_samples import Samples

SAMPLES = Samples()
