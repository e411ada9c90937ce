# Generated from `_async/resources/__init__.py` by `make generate`.
"""The resources of the client. Each is imported when it is used."""

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from stead_sdk._sync.client import Stead
    from stead_sdk._sync.resources.access import Access
    from stead_sdk._sync.resources.account import Account
    from stead_sdk._sync.resources.accounts import Accounts
    from stead_sdk._sync.resources.api_keys import ApiKeys
    from stead_sdk._sync.resources.artifacts import Artifacts
    from stead_sdk._sync.resources.backups import Backups
    from stead_sdk._sync.resources.builds import Builds
    from stead_sdk._sync.resources.cache import Cache
    from stead_sdk._sync.resources.capabilities import Capabilities
    from stead_sdk._sync.resources.cms_users import CmsUsers
    from stead_sdk._sync.resources.components import Components
    from stead_sdk._sync.resources.content import Content
    from stead_sdk._sync.resources.cron import Cron
    from stead_sdk._sync.resources.database import Database
    from stead_sdk._sync.resources.deployments import Deployments
    from stead_sdk._sync.resources.device_authorizations import DeviceAuthorizations
    from stead_sdk._sync.resources.dns_records import DnsRecords
    from stead_sdk._sync.resources.domains import Domains
    from stead_sdk._sync.resources.environments import Environments
    from stead_sdk._sync.resources.events import Events
    from stead_sdk._sync.resources.exec import Exec
    from stead_sdk._sync.resources.functions import Functions
    from stead_sdk._sync.resources.insights import Insights
    from stead_sdk._sync.resources.invites import Invites
    from stead_sdk._sync.resources.jobs import Jobs
    from stead_sdk._sync.resources.logs import Logs
    from stead_sdk._sync.resources.malware import Malware
    from stead_sdk._sync.resources.members import Members
    from stead_sdk._sync.resources.metrics import Metrics
    from stead_sdk._sync.resources.notification_preferences import NotificationPreferences
    from stead_sdk._sync.resources.notifications import Notifications
    from stead_sdk._sync.resources.openapi import Openapi
    from stead_sdk._sync.resources.password_resets import PasswordResets
    from stead_sdk._sync.resources.projects import Projects
    from stead_sdk._sync.resources.rate_limits import RateLimits
    from stead_sdk._sync.resources.releases import Releases
    from stead_sdk._sync.resources.runtimes import Runtimes
    from stead_sdk._sync.resources.secrets import Secrets
    from stead_sdk._sync.resources.security import Security
    from stead_sdk._sync.resources.sessions import Sessions
    from stead_sdk._sync.resources.sites import Sites
    from stead_sdk._sync.resources.team_projects import TeamProjects
    from stead_sdk._sync.resources.teams import Teams
    from stead_sdk._sync.resources.traces import Traces
    from stead_sdk._sync.resources.uploads import Uploads
    from stead_sdk._sync.resources.usage import Usage
    from stead_sdk._sync.resources.vulnerabilities import Vulnerabilities
    from stead_sdk._sync.resources.webhook_deliveries import WebhookDeliveries
    from stead_sdk._sync.resources.webhook_endpoints import WebhookEndpoints


class Resources:
    @cached_property
    def access(self) -> "Access":
        from stead_sdk._sync.resources.access import Access

        return Access(cast("Stead", self))

    @cached_property
    def account(self) -> "Account":
        from stead_sdk._sync.resources.account import Account

        return Account(cast("Stead", self))

    @cached_property
    def accounts(self) -> "Accounts":
        from stead_sdk._sync.resources.accounts import Accounts

        return Accounts(cast("Stead", self))

    @cached_property
    def api_keys(self) -> "ApiKeys":
        from stead_sdk._sync.resources.api_keys import ApiKeys

        return ApiKeys(cast("Stead", self))

    @cached_property
    def artifacts(self) -> "Artifacts":
        from stead_sdk._sync.resources.artifacts import Artifacts

        return Artifacts(cast("Stead", self))

    @cached_property
    def backups(self) -> "Backups":
        from stead_sdk._sync.resources.backups import Backups

        return Backups(cast("Stead", self))

    @cached_property
    def builds(self) -> "Builds":
        from stead_sdk._sync.resources.builds import Builds

        return Builds(cast("Stead", self))

    @cached_property
    def cache(self) -> "Cache":
        from stead_sdk._sync.resources.cache import Cache

        return Cache(cast("Stead", self))

    @cached_property
    def capabilities(self) -> "Capabilities":
        from stead_sdk._sync.resources.capabilities import Capabilities

        return Capabilities(cast("Stead", self))

    @cached_property
    def cms_users(self) -> "CmsUsers":
        from stead_sdk._sync.resources.cms_users import CmsUsers

        return CmsUsers(cast("Stead", self))

    @cached_property
    def components(self) -> "Components":
        from stead_sdk._sync.resources.components import Components

        return Components(cast("Stead", self))

    @cached_property
    def content(self) -> "Content":
        from stead_sdk._sync.resources.content import Content

        return Content(cast("Stead", self))

    @cached_property
    def cron(self) -> "Cron":
        from stead_sdk._sync.resources.cron import Cron

        return Cron(cast("Stead", self))

    @cached_property
    def database(self) -> "Database":
        from stead_sdk._sync.resources.database import Database

        return Database(cast("Stead", self))

    @cached_property
    def deployments(self) -> "Deployments":
        from stead_sdk._sync.resources.deployments import Deployments

        return Deployments(cast("Stead", self))

    @cached_property
    def device_authorizations(self) -> "DeviceAuthorizations":
        from stead_sdk._sync.resources.device_authorizations import DeviceAuthorizations

        return DeviceAuthorizations(cast("Stead", self))

    @cached_property
    def dns_records(self) -> "DnsRecords":
        from stead_sdk._sync.resources.dns_records import DnsRecords

        return DnsRecords(cast("Stead", self))

    @cached_property
    def domains(self) -> "Domains":
        from stead_sdk._sync.resources.domains import Domains

        return Domains(cast("Stead", self))

    @cached_property
    def environments(self) -> "Environments":
        from stead_sdk._sync.resources.environments import Environments

        return Environments(cast("Stead", self))

    @cached_property
    def events(self) -> "Events":
        from stead_sdk._sync.resources.events import Events

        return Events(cast("Stead", self))

    @cached_property
    def exec(self) -> "Exec":
        from stead_sdk._sync.resources.exec import Exec

        return Exec(cast("Stead", self))

    @cached_property
    def functions(self) -> "Functions":
        from stead_sdk._sync.resources.functions import Functions

        return Functions(cast("Stead", self))

    @cached_property
    def insights(self) -> "Insights":
        from stead_sdk._sync.resources.insights import Insights

        return Insights(cast("Stead", self))

    @cached_property
    def invites(self) -> "Invites":
        from stead_sdk._sync.resources.invites import Invites

        return Invites(cast("Stead", self))

    @cached_property
    def jobs(self) -> "Jobs":
        from stead_sdk._sync.resources.jobs import Jobs

        return Jobs(cast("Stead", self))

    @cached_property
    def logs(self) -> "Logs":
        from stead_sdk._sync.resources.logs import Logs

        return Logs(cast("Stead", self))

    @cached_property
    def malware(self) -> "Malware":
        from stead_sdk._sync.resources.malware import Malware

        return Malware(cast("Stead", self))

    @cached_property
    def members(self) -> "Members":
        from stead_sdk._sync.resources.members import Members

        return Members(cast("Stead", self))

    @cached_property
    def metrics(self) -> "Metrics":
        from stead_sdk._sync.resources.metrics import Metrics

        return Metrics(cast("Stead", self))

    @cached_property
    def notification_preferences(self) -> "NotificationPreferences":
        from stead_sdk._sync.resources.notification_preferences import NotificationPreferences

        return NotificationPreferences(cast("Stead", self))

    @cached_property
    def notifications(self) -> "Notifications":
        from stead_sdk._sync.resources.notifications import Notifications

        return Notifications(cast("Stead", self))

    @cached_property
    def openapi(self) -> "Openapi":
        from stead_sdk._sync.resources.openapi import Openapi

        return Openapi(cast("Stead", self))

    @cached_property
    def password_resets(self) -> "PasswordResets":
        from stead_sdk._sync.resources.password_resets import PasswordResets

        return PasswordResets(cast("Stead", self))

    @cached_property
    def projects(self) -> "Projects":
        from stead_sdk._sync.resources.projects import Projects

        return Projects(cast("Stead", self))

    @cached_property
    def rate_limits(self) -> "RateLimits":
        from stead_sdk._sync.resources.rate_limits import RateLimits

        return RateLimits(cast("Stead", self))

    @cached_property
    def releases(self) -> "Releases":
        from stead_sdk._sync.resources.releases import Releases

        return Releases(cast("Stead", self))

    @cached_property
    def runtimes(self) -> "Runtimes":
        from stead_sdk._sync.resources.runtimes import Runtimes

        return Runtimes(cast("Stead", self))

    @cached_property
    def secrets(self) -> "Secrets":
        from stead_sdk._sync.resources.secrets import Secrets

        return Secrets(cast("Stead", self))

    @cached_property
    def security(self) -> "Security":
        from stead_sdk._sync.resources.security import Security

        return Security(cast("Stead", self))

    @cached_property
    def sessions(self) -> "Sessions":
        from stead_sdk._sync.resources.sessions import Sessions

        return Sessions(cast("Stead", self))

    @cached_property
    def sites(self) -> "Sites":
        from stead_sdk._sync.resources.sites import Sites

        return Sites(cast("Stead", self))

    @cached_property
    def team_projects(self) -> "TeamProjects":
        from stead_sdk._sync.resources.team_projects import TeamProjects

        return TeamProjects(cast("Stead", self))

    @cached_property
    def teams(self) -> "Teams":
        from stead_sdk._sync.resources.teams import Teams

        return Teams(cast("Stead", self))

    @cached_property
    def traces(self) -> "Traces":
        from stead_sdk._sync.resources.traces import Traces

        return Traces(cast("Stead", self))

    @cached_property
    def uploads(self) -> "Uploads":
        from stead_sdk._sync.resources.uploads import Uploads

        return Uploads(cast("Stead", self))

    @cached_property
    def usage(self) -> "Usage":
        from stead_sdk._sync.resources.usage import Usage

        return Usage(cast("Stead", self))

    @cached_property
    def vulnerabilities(self) -> "Vulnerabilities":
        from stead_sdk._sync.resources.vulnerabilities import Vulnerabilities

        return Vulnerabilities(cast("Stead", self))

    @cached_property
    def webhook_deliveries(self) -> "WebhookDeliveries":
        from stead_sdk._sync.resources.webhook_deliveries import WebhookDeliveries

        return WebhookDeliveries(cast("Stead", self))

    @cached_property
    def webhook_endpoints(self) -> "WebhookEndpoints":
        from stead_sdk._sync.resources.webhook_endpoints import WebhookEndpoints

        return WebhookEndpoints(cast("Stead", self))
