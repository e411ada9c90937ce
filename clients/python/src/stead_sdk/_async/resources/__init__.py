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
    from stead_sdk._async.resources.backups import AsyncBackups
    from stead_sdk._async.resources.builds import AsyncBuilds
    from stead_sdk._async.resources.cache import AsyncCache
    from stead_sdk._async.resources.capabilities import AsyncCapabilities
    from stead_sdk._async.resources.cms_users import AsyncCmsUsers
    from stead_sdk._async.resources.components import AsyncComponents
    from stead_sdk._async.resources.content import AsyncContent
    from stead_sdk._async.resources.cron import AsyncCron
    from stead_sdk._async.resources.database import AsyncDatabase
    from stead_sdk._async.resources.deployments import AsyncDeployments
    from stead_sdk._async.resources.device_authorizations import AsyncDeviceAuthorizations
    from stead_sdk._async.resources.dns_records import AsyncDnsRecords
    from stead_sdk._async.resources.domains import AsyncDomains
    from stead_sdk._async.resources.environments import AsyncEnvironments
    from stead_sdk._async.resources.events import AsyncEvents
    from stead_sdk._async.resources.exec import AsyncExec
    from stead_sdk._async.resources.functions import AsyncFunctions
    from stead_sdk._async.resources.insights import AsyncInsights
    from stead_sdk._async.resources.invites import AsyncInvites
    from stead_sdk._async.resources.jobs import AsyncJobs
    from stead_sdk._async.resources.logs import AsyncLogs
    from stead_sdk._async.resources.malware import AsyncMalware
    from stead_sdk._async.resources.members import AsyncMembers
    from stead_sdk._async.resources.metrics import AsyncMetrics
    from stead_sdk._async.resources.notification_preferences import AsyncNotificationPreferences
    from stead_sdk._async.resources.notifications import AsyncNotifications
    from stead_sdk._async.resources.openapi import AsyncOpenapi
    from stead_sdk._async.resources.password_resets import AsyncPasswordResets
    from stead_sdk._async.resources.projects import AsyncProjects
    from stead_sdk._async.resources.rate_limits import AsyncRateLimits
    from stead_sdk._async.resources.releases import AsyncReleases
    from stead_sdk._async.resources.runtimes import AsyncRuntimes
    from stead_sdk._async.resources.secrets import AsyncSecrets
    from stead_sdk._async.resources.security import AsyncSecurity
    from stead_sdk._async.resources.sessions import AsyncSessions
    from stead_sdk._async.resources.sites import AsyncSites
    from stead_sdk._async.resources.team_projects import AsyncTeamProjects
    from stead_sdk._async.resources.teams import AsyncTeams
    from stead_sdk._async.resources.traces import AsyncTraces
    from stead_sdk._async.resources.uploads import AsyncUploads
    from stead_sdk._async.resources.usage import AsyncUsage
    from stead_sdk._async.resources.vulnerabilities import AsyncVulnerabilities
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
    def backups(self) -> "AsyncBackups":
        from stead_sdk._async.resources.backups import AsyncBackups

        return AsyncBackups(cast("AsyncStead", self))

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
    def cms_users(self) -> "AsyncCmsUsers":
        from stead_sdk._async.resources.cms_users import AsyncCmsUsers

        return AsyncCmsUsers(cast("AsyncStead", self))

    @cached_property
    def components(self) -> "AsyncComponents":
        from stead_sdk._async.resources.components import AsyncComponents

        return AsyncComponents(cast("AsyncStead", self))

    @cached_property
    def content(self) -> "AsyncContent":
        from stead_sdk._async.resources.content import AsyncContent

        return AsyncContent(cast("AsyncStead", self))

    @cached_property
    def cron(self) -> "AsyncCron":
        from stead_sdk._async.resources.cron import AsyncCron

        return AsyncCron(cast("AsyncStead", self))

    @cached_property
    def database(self) -> "AsyncDatabase":
        from stead_sdk._async.resources.database import AsyncDatabase

        return AsyncDatabase(cast("AsyncStead", self))

    @cached_property
    def deployments(self) -> "AsyncDeployments":
        from stead_sdk._async.resources.deployments import AsyncDeployments

        return AsyncDeployments(cast("AsyncStead", self))

    @cached_property
    def device_authorizations(self) -> "AsyncDeviceAuthorizations":
        from stead_sdk._async.resources.device_authorizations import AsyncDeviceAuthorizations

        return AsyncDeviceAuthorizations(cast("AsyncStead", self))

    @cached_property
    def dns_records(self) -> "AsyncDnsRecords":
        from stead_sdk._async.resources.dns_records import AsyncDnsRecords

        return AsyncDnsRecords(cast("AsyncStead", self))

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
    def functions(self) -> "AsyncFunctions":
        from stead_sdk._async.resources.functions import AsyncFunctions

        return AsyncFunctions(cast("AsyncStead", self))

    @cached_property
    def insights(self) -> "AsyncInsights":
        from stead_sdk._async.resources.insights import AsyncInsights

        return AsyncInsights(cast("AsyncStead", self))

    @cached_property
    def invites(self) -> "AsyncInvites":
        from stead_sdk._async.resources.invites import AsyncInvites

        return AsyncInvites(cast("AsyncStead", self))

    @cached_property
    def jobs(self) -> "AsyncJobs":
        from stead_sdk._async.resources.jobs import AsyncJobs

        return AsyncJobs(cast("AsyncStead", self))

    @cached_property
    def logs(self) -> "AsyncLogs":
        from stead_sdk._async.resources.logs import AsyncLogs

        return AsyncLogs(cast("AsyncStead", self))

    @cached_property
    def malware(self) -> "AsyncMalware":
        from stead_sdk._async.resources.malware import AsyncMalware

        return AsyncMalware(cast("AsyncStead", self))

    @cached_property
    def members(self) -> "AsyncMembers":
        from stead_sdk._async.resources.members import AsyncMembers

        return AsyncMembers(cast("AsyncStead", self))

    @cached_property
    def metrics(self) -> "AsyncMetrics":
        from stead_sdk._async.resources.metrics import AsyncMetrics

        return AsyncMetrics(cast("AsyncStead", self))

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
    def password_resets(self) -> "AsyncPasswordResets":
        from stead_sdk._async.resources.password_resets import AsyncPasswordResets

        return AsyncPasswordResets(cast("AsyncStead", self))

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
    def secrets(self) -> "AsyncSecrets":
        from stead_sdk._async.resources.secrets import AsyncSecrets

        return AsyncSecrets(cast("AsyncStead", self))

    @cached_property
    def security(self) -> "AsyncSecurity":
        from stead_sdk._async.resources.security import AsyncSecurity

        return AsyncSecurity(cast("AsyncStead", self))

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
    def traces(self) -> "AsyncTraces":
        from stead_sdk._async.resources.traces import AsyncTraces

        return AsyncTraces(cast("AsyncStead", self))

    @cached_property
    def uploads(self) -> "AsyncUploads":
        from stead_sdk._async.resources.uploads import AsyncUploads

        return AsyncUploads(cast("AsyncStead", self))

    @cached_property
    def usage(self) -> "AsyncUsage":
        from stead_sdk._async.resources.usage import AsyncUsage

        return AsyncUsage(cast("AsyncStead", self))

    @cached_property
    def vulnerabilities(self) -> "AsyncVulnerabilities":
        from stead_sdk._async.resources.vulnerabilities import AsyncVulnerabilities

        return AsyncVulnerabilities(cast("AsyncStead", self))

    @cached_property
    def webhook_deliveries(self) -> "AsyncWebhookDeliveries":
        from stead_sdk._async.resources.webhook_deliveries import AsyncWebhookDeliveries

        return AsyncWebhookDeliveries(cast("AsyncStead", self))

    @cached_property
    def webhook_endpoints(self) -> "AsyncWebhookEndpoints":
        from stead_sdk._async.resources.webhook_endpoints import AsyncWebhookEndpoints

        return AsyncWebhookEndpoints(cast("AsyncStead", self))
