"""Samples of databases: every simulated site has one."""

from tests.feature_samples import Samples

SAMPLES = Samples(
    silent_operations={
        f"database.{verb}{form}": "Rows change all the time; the audit trail records the request."
        for verb in ("query", "execute")
        for form in ("", "_in_environment")
    },
)
