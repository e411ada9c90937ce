# Generated from the API description by `make generate`.
"""The resources of the client. Each is imported when it is used."""

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from stead_sdk._async.client import AsyncStead
    from stead_sdk._async.resources.access import AsyncAccess
    from stead_sdk._async.resources.account import AsyncAccount
    from stead_sdk._async.resources.accounts import AsyncAccounts
    from stead_sdk._async.resources.api_keys import AsyncApiKeys
    from stead_sdk._async.resources.artifacts import AsyncArtifacts
    from stead_sdk._async.resources.builds import AsyncBuilds
    from stead_sdk._async.resources.cache import AsyncCache
    from stead_sdk._async.resources.capabilities import AsyncCapabilities
    from stead_sdk._async.resources.deployments import AsyncDeployments
    from stead_sdk._async.resources.domains import AsyncDomains
    from stead_sdk._async.resources.environments import AsyncEnvironments
    from stead_sdk._async.resources.events import AsyncEvents
    from stead_sdk._async.resources.exec import AsyncExec
    from stead_sdk._async.resources.invites import AsyncInvites
    from stead_sdk._async.resources.jobs import AsyncJobs
    from stead_sdk._async.resources.members import AsyncMembers
    from stead_sdk._async.resources.notification_preferences import AsyncNotificationPreferences
    from stead_sdk._async.resources.notifications import AsyncNotifications
    from stead_sdk._async.resources.openapi import AsyncOpenapi
    from stead_sdk._async.resources.projects import AsyncProjects
    from stead_sdk._async.resources.rate_limits import AsyncRateLimits
    from stead_sdk._async.resources.releases import AsyncReleases
    from stead_sdk._async.resources.runtimes import AsyncRuntimes
    from stead_sdk._async.resources.sessions import AsyncSessions
    from stead_sdk._async.resources.sites import AsyncSites
    from stead_sdk._async.resources.team_projects import AsyncTeamProjects
    from stead_sdk._async.resources.teams import AsyncTeams
    from stead_sdk._async.resources.uploads import AsyncUploads
    from stead_sdk._async.resources.webhook_deliveries import AsyncWebhookDeliveries
    from stead_sdk._async.resources.webhook_endpoints import AsyncWebhookEndpoints


class AsyncResources:
    @cached_property
    def access(self) -> "AsyncAccess":
        from stead_sdk._async.resources.access import AsyncAccess

        return AsyncAccess(cast("AsyncStead", self))

    @cached_property
    def account(self) -> "AsyncAccount":
        from stead_sdk._async.resources.account import AsyncAccount

        return AsyncAccount(cast("AsyncStead", self))

    @cached_property
    def accounts(self) -> "AsyncAccounts":
        from stead_sdk._async.resources.accounts import AsyncAccounts

        return AsyncAccounts(cast("AsyncStead", self))

    @cached_property
    def api_keys(self) -> "AsyncApiKeys":
        from stead_sdk._async.resources.api_keys import AsyncApiKeys

        return AsyncApiKeys(cast("AsyncStead", self))

    @cached_property
    def artifacts(self) -> "AsyncArtifacts":
        from stead_sdk._async.resources.artifacts import AsyncArtifacts

        return AsyncArtifacts(cast("AsyncStead", self))

    @cached_property
    def builds(self) -> "AsyncBuilds":
        from stead_sdk._async.resources.builds import AsyncBuilds

        return AsyncBuilds(cast("AsyncStead", self))

    @cached_property
    def cache(self) -> "AsyncCache":
        from stead_sdk._async.resources.cache import AsyncCache

        return AsyncCache(cast("AsyncStead", self))

    @cached_property
    def capabilities(self) -> "AsyncCapabilities":
        from stead_sdk._async.resources.capabilities import AsyncCapabilities

        return AsyncCapabilities(cast("AsyncStead", self))

    @cached_property
    def deployments(self) -> "AsyncDeployments":
        from stead_sdk._async.resources.deployments import AsyncDeployments

        return AsyncDeployments(cast("AsyncStead", self))

    @cached_property
    def domains(self) -> "AsyncDomains":
        from stead_sdk._async.resources.domains import AsyncDomains

        return AsyncDomains(cast("AsyncStead", self))

    @cached_property
    def environments(self) -> "AsyncEnvironments":
        from stead_sdk._async.resources.environments import AsyncEnvironments

        return AsyncEnvironments(cast("AsyncStead", self))

    @cached_property
    def events(self) -> "AsyncEvents":
        from stead_sdk._async.resources.events import AsyncEvents

        return AsyncEvents(cast("AsyncStead", self))

    @cached_property
    def exec(self) -> "AsyncExec":
        from stead_sdk._async.resources.exec import AsyncExec

        return AsyncExec(cast("AsyncStead", self))

    @cached_property
    def invites(self) -> "AsyncInvites":
        from stead_sdk._async.resources.invites import AsyncInvites

        return AsyncInvites(cast("AsyncStead", self))

    @cached_property
    def jobs(self) -> "AsyncJobs":
        from stead_sdk._async.resources.jobs import AsyncJobs

        return AsyncJobs(cast("AsyncStead", self))

    @cached_property
    def members(self) -> "AsyncMembers":
        from stead_sdk._async.resources.members import AsyncMembers

        return AsyncMembers(cast("AsyncStead", self))

    @cached_property
    def notification_preferences(self) -> "AsyncNotificationPreferences":
        from stead_sdk._async.resources.notification_preferences import AsyncNotificationPreferences

        return AsyncNotificationPreferences(cast("AsyncStead", self))

    @cached_property
    def notifications(self) -> "AsyncNotifications":
        from stead_sdk._async.resources.notifications import AsyncNotifications

        return AsyncNotifications(cast("AsyncStead", self))

    @cached_property
    def openapi(self) -> "AsyncOpenapi":
        from stead_sdk._async.resources.openapi import AsyncOpenapi

        return AsyncOpenapi(cast("AsyncStead", self))

    @cached_property
    def projects(self) -> "AsyncProjects":
        from stead_sdk._async.resources.projects import AsyncProjects

        return AsyncProjects(cast("AsyncStead", self))

    @cached_property
    def rate_limits(self) -> "AsyncRateLimits":
        from stead_sdk._async.resources.rate_limits import AsyncRateLimits

        return AsyncRateLimits(cast("AsyncStead", self))

    @cached_property
    def releases(self) -> "AsyncReleases":
        from stead_sdk._async.resources.releases import AsyncReleases

        return AsyncReleases(cast("AsyncStead", self))

    @cached_property
    def runtimes(self) -> "AsyncRuntimes":
        from stead_sdk._async.resources.runtimes import AsyncRuntimes

        return AsyncRuntimes(cast("AsyncStead", self))

    @cached_property
    def sessions(self) -> "AsyncSessions":
        from stead_sdk._async.resources.sessions import AsyncSessions

        return AsyncSessions(cast("AsyncStead", self))

    @cached_property
    def sites(self) -> "AsyncSites":
        from stead_sdk._async.resources.sites import AsyncSites

        return AsyncSites(cast("AsyncStead", self))

    @cached_property
    def team_projects(self) -> "AsyncTeamProjects":
        from stead_sdk._async.resources.team_projects import AsyncTeamProjects

        return AsyncTeamProjects(cast("AsyncStead", self))

    @cached_property
    def teams(self) -> "AsyncTeams":
        from stead_sdk._async.resources.teams import AsyncTeams

        return AsyncTeams(cast("AsyncStead", self))

    @cached_property
    def uploads(self) -> "AsyncUploads":
        from stead_sdk._async.resources.uploads import AsyncUploads

        return AsyncUploads(cast("AsyncStead", self))

    @cached_property
    def webhook_deliveries(self) -> "AsyncWebhookDeliveries":
        from stead_sdk._async.resources.webhook_deliveries import AsyncWebhookDeliveries

        return AsyncWebhookDeliveries(cast("AsyncStead", self))

    @cached_property
    def webhook_endpoints(self) -> "AsyncWebhookEndpoints":
        from stead_sdk._async.resources.webhook_endpoints import AsyncWebhookEndpoints

        return AsyncWebhookEndpoints(cast("AsyncStead", self))
