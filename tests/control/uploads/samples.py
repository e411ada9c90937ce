"""Sample uploads for the suites that cover every operation."""

from tests.feature_samples import Samples

SAMPLES = Samples(
    silent_operations={"uploads.create": "it only returns a URL to upload to; the build publishes events"}
)
