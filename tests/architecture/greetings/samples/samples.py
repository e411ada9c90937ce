"""Sample greetings for the suites that cover every operation."""

from tests.contract.contract_file import Row
from tests.feature_samples import Samples

SAMPLES = Samples(
    extension_rows=(
        Row(
            id="greetings.send",
            method="POST",
            path="/v1/sites/{site_id}/environments/{env_id}/greetings",
            scopes=("environments:write",),
            status=202,
            answer="job",
            roles=("owner", "admin", "site_manager"),
        ),
    ),
    open_to_test_keys=frozenset({"greetings.send"}),
)
