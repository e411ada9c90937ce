"""The quotas of a plan. No I/O."""

from dataclasses import dataclass
from typing import Literal

from stead.shared.errors import QuotaExceeded
from stead.shared.ids import AccountId, TeamId

Quota = Literal["sites", "deleted_sites", "environments", "branches", "projects"]
AccountQuota = Literal["teams", "keys", "invites", "webhook_endpoints"]
"""Quotas of an account, whatever teams it is in."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The team or account whose plan applies."""

    account_id: AccountId | None = None
    team_id: TeamId | None = None

    @property
    def id(self) -> str:
        return self.team_id or self.account_id or ""


class SitesExhausted(QuotaExceeded):
    code = "quota.sites"
    message = "All {limit} sites of the plan are in use."
    remedy = "Delete a site, or upgrade the plan."


class DeletedSitesExhausted(QuotaExceeded):
    code = "quota.deleted_sites"
    message = (
        "At least {limit} deleted WordPress sites can still be recovered, and keep their space until then."
    )
    remedy = (
        "Recover one of them instead of creating a site, wait until one cannot be recovered any more"
        " (`recoverable_until`), or upgrade the plan. Twice as many as the sites of the plan are allowed, and"
        " ten more."
    )


class EnvironmentsExhausted(QuotaExceeded):
    code = "quota.environments"
    message = "All {limit} environments of the plan are in use. Production environments are not counted."
    remedy = "Destroy an environment, or upgrade the plan. Suspended and failed environments count."


class BranchesExhausted(QuotaExceeded):
    code = "quota.branches"
    message = "All {limit} branch environments that the plan allows for a site are in use."
    remedy = "Destroy a branch environment of this site, or upgrade the plan."


class ProjectsExhausted(QuotaExceeded):
    code = "quota.projects"
    message = "All {limit} projects of the plan are in use."
    remedy = "Delete a project, or upgrade the plan."


class TeamsExhausted(QuotaExceeded):
    code = "quota.teams"
    message = "The account has created all {limit} teams that its plan allows."
    remedy = "Delete a team that you created, or upgrade the plan."


class KeysExhausted(QuotaExceeded):
    code = "quota.keys"
    message = "The account has all {limit} API keys that its plan allows."
    remedy = "Revoke a key, or upgrade the plan. Expired keys do not count."


class InvitesExhausted(QuotaExceeded):
    code = "quota.invites"
    message = "The account has sent all {limit} pending invites that its plan allows."
    remedy = "Revoke an invite, wait until one is accepted, or upgrade the plan."


class EndpointsExhausted(QuotaExceeded):
    code = "quota.webhook_endpoints"
    message = "The account has all {limit} webhook endpoints that its plan allows."
    remedy = "Delete an endpoint. One endpoint can subscribe to any number of event types."


class StorageExhausted(QuotaExceeded):
    code = "quota.storage"
    message = "The {limit} GB of storage that the plan allows are in use."
    remedy = (
        "Delete a site, wait until unused artifacts, uploads and old snapshots are removed, or upgrade the"
        " plan. Artifacts count with their unpacked size; snapshots of a deleted site count as long as it can"
        " be recovered."
    )


GB = 1_000_000_000
MB = 1 << 20

EXHAUSTED: dict[Quota, type[QuotaExceeded]] = {
    "sites": SitesExhausted,
    "deleted_sites": DeletedSitesExhausted,
    "environments": EnvironmentsExhausted,
    "branches": BranchesExhausted,
    "projects": ProjectsExhausted,
}

EXHAUSTED_ACCOUNT: dict[AccountQuota, type[QuotaExceeded]] = {
    "teams": TeamsExhausted,
    "keys": KeysExhausted,
    "invites": InvitesExhausted,
    "webhook_endpoints": EndpointsExhausted,
}
