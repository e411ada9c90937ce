"""The quotas of a plan. No I/O."""

from dataclasses import dataclass
from typing import Literal

from stead.shared.errors import QuotaExceeded
from stead.shared.ids import AccountId, TeamId

Quota = Literal["sites", "environments", "branches"]


@dataclass(frozen=True, slots=True)
class Owner:
    """The team or account whose plan applies."""

    account_id: AccountId | None = None
    team_id: TeamId | None = None


class SitesExhausted(QuotaExceeded):
    code = "quota.sites"
    message = "All {limit} sites of the plan are in use."
    remedy = "Delete a site, or upgrade the plan."


class EnvironmentsExhausted(QuotaExceeded):
    code = "quota.environments"
    message = "All {limit} environments of the plan are in use. Production environments are not counted."
    remedy = "Destroy an environment, or upgrade the plan. Suspended and failed environments count."


class BranchesExhausted(QuotaExceeded):
    code = "quota.branches"
    message = "All {limit} branch environments that the plan allows for a site are in use."
    remedy = "Destroy a branch environment of this site, or upgrade the plan."


class StorageExhausted(QuotaExceeded):
    code = "quota.storage"
    message = "The {limit} GB of artifacts that the plan allows are in use."
    remedy = "Delete a site, wait until unused artifacts are removed, or upgrade the plan."


GB = 1_000_000_000

EXHAUSTED: dict[Quota, type[QuotaExceeded]] = {
    "sites": SitesExhausted,
    "environments": EnvironmentsExhausted,
    "branches": BranchesExhausted,
}
