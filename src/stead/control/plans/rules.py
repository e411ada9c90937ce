"""What a plan allows. No I/O."""

from dataclasses import dataclass
from typing import Literal

from stead.shared.errors import QuotaExceeded
from stead.shared.ids import AccountId, TeamId

Quota = Literal["sites", "environments", "branches"]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose plan counts: a team's, or a person's own."""

    account_id: AccountId | None = None
    team_id: TeamId | None = None


class SitesExhausted(QuotaExceeded):
    code = "quota.sites"
    message = "The plan allows {limit} sites, and they are all in use."
    remedy = "Delete a site, or move to a larger plan."


class EnvironmentsExhausted(QuotaExceeded):
    code = "quota.environments"
    message = "The plan allows {limit} environments besides production, and they are all in use."
    remedy = "Destroy an environment, also a suspended or failed one, or move to a larger plan."


class BranchesExhausted(QuotaExceeded):
    code = "quota.branches"
    message = "The plan allows {limit} branch environments for a site, and they are all in use."
    remedy = "Destroy a branch environment of this site, or move to a larger plan."


class StorageExhausted(QuotaExceeded):
    code = "quota.storage"
    message = "The plan allows {limit} GB of artifacts, and they are in use."
    remedy = "Delete a site, wait until artifacts that nothing uses are removed, or move to a larger plan."


GB = 1_000_000_000

EXHAUSTED: dict[Quota, type[QuotaExceeded]] = {
    "sites": SitesExhausted,
    "environments": EnvironmentsExhausted,
    "branches": BranchesExhausted,
}
