"""Sample greetings for the suites that cover every operation and job."""

from tests.feature_samples import Samples

SAMPLES = Samples()
