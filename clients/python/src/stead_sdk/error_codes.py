# Generated from the API description by `make generate`.
"""A class for every error code: `except error_codes.SiteDomainTaken`."""

from stead_sdk import errors


class AccountEmailTaken(errors.Conflict):
    """`account.email_taken`"""


class AccountEmailUnverified(errors.PermissionDenied):
    """`account.email_unverified`"""


class AccountNotFound(errors.NotFound):
    """`account.not_found`"""


class AccountPasswordIncorrect(errors.PermissionDenied):
    """`account.password_incorrect`"""


class AccountTeamNotJoined(errors.InvalidRequest):
    """`account.team_not_joined`"""


class ArtifactNotFound(errors.NotFound):
    """`artifact.not_found`"""


class AuthAccountSuspended(errors.AuthenticationError):
    """`auth.account_suspended`"""


class AuthCrossSite(errors.PermissionDenied):
    """`auth.cross_site`"""


class AuthExpired(errors.AuthenticationError):
    """`auth.expired`"""


class AuthInvalid(errors.AuthenticationError):
    """`auth.invalid`"""


class AuthIpNotAllowed(errors.AuthenticationError):
    """`auth.ip_not_allowed`"""


class AuthMalformed(errors.AuthenticationError):
    """`auth.malformed`"""


class AuthMissing(errors.AuthenticationError):
    """`auth.missing`"""


class AuthRevoked(errors.AuthenticationError):
    """`auth.revoked`"""


class AuthSignInAgain(errors.PermissionDenied):
    """`auth.sign_in_again`"""


class AuthSignInRefused(errors.AuthenticationError):
    """`auth.sign_in_refused`"""


class BindingUnsupported(errors.InvalidRequest):
    """`binding.unsupported`"""


class BuildNotFound(errors.NotFound):
    """`build.not_found`"""


class CapabilityUnsupported(errors.Conflict):
    """`capability.unsupported`"""


class CmsUserNotFound(errors.NotFound):
    """`cms_user.not_found`"""


class ComponentFixed(errors.Conflict):
    """`component.fixed`"""


class ComponentManagedInGit(errors.Conflict):
    """`component.managed_in_git`"""


class ComponentNotFound(errors.NotFound):
    """`component.not_found`"""


class ComponentVulnerable(errors.Conflict):
    """`component.vulnerable`"""


class ContentNotFound(errors.NotFound):
    """`content.not_found`"""


class CredentialNotFound(errors.NotFound):
    """`credential.not_found`"""


class CronNotFound(errors.NotFound):
    """`cron.not_found`"""


class DatabaseSnapshotNeeded(errors.Conflict):
    """`database.snapshot_needed`"""


class DatabaseStatementRefused(errors.InvalidRequest):
    """`database.statement_refused`"""


class DatabaseTimeout(errors.ServerFault):
    """`database.timeout`"""


class DeploymentArtifactNotKept(errors.Conflict):
    """`deployment.artifact_not_kept`"""


class DeploymentNeverLive(errors.Conflict):
    """`deployment.never_live`"""


class DeploymentNotFound(errors.NotFound):
    """`deployment.not_found`"""


class DeploymentNothingLive(errors.Conflict):
    """`deployment.nothing_live`"""


class DetectionNotFound(errors.NotFound):
    """`detection.not_found`"""


class DeviceDenied(errors.PermissionDenied):
    """`device.denied`"""


class DeviceExpired(errors.InvalidRequest):
    """`device.expired`"""


class DeviceNotFound(errors.NotFound):
    """`device.not_found`"""


class DevicePending(errors.Conflict):
    """`device.pending`"""


class DeviceSessionRequired(errors.PermissionDenied):
    """`device.session_required`"""


class DnsUnavailable(errors.Conflict):
    """`dns.unavailable`"""


class DnsZoneTaken(errors.Conflict):
    """`dns.zone_taken`"""


class DnsRecordConflicts(errors.Conflict):
    """`dns_record.conflicts`"""


class DnsRecordExists(errors.Conflict):
    """`dns_record.exists`"""


class DnsRecordNotFound(errors.NotFound):
    """`dns_record.not_found`"""


class DomainIsPrimary(errors.Conflict):
    """`domain.is_primary`"""


class DomainIsWildcard(errors.Conflict):
    """`domain.is_wildcard`"""


class DomainNeedsZone(errors.Conflict):
    """`domain.needs_zone`"""


class DomainNotFound(errors.NotFound):
    """`domain.not_found`"""


class DomainNotOfProduction(errors.Conflict):
    """`domain.not_of_production`"""


class DomainNotVerified(errors.Conflict):
    """`domain.not_verified`"""


class DomainOverlaps(errors.Conflict):
    """`domain.overlaps`"""


class EnvironmentBusy(errors.Conflict):
    """`environment.busy`"""


class EnvironmentExists(errors.Conflict):
    """`environment.exists`"""


class EnvironmentIsProduction(errors.Conflict):
    """`environment.is_production`"""


class EnvironmentLocked(errors.Conflict):
    """`environment.locked`"""


class EnvironmentNotFound(errors.NotFound):
    """`environment.not_found`"""


class EnvironmentNotReady(errors.Conflict):
    """`environment.not_ready`"""


class EnvironmentNothingToPush(errors.Conflict):
    """`environment.nothing_to_push`"""


class EnvironmentPushNotAllowed(errors.Conflict):
    """`environment.push_not_allowed`"""


class FunctionNotFound(errors.NotFound):
    """`function.not_found`"""


class FunctionRouteTaken(errors.Conflict):
    """`function.route_taken`"""


class FunctionSlugTaken(errors.Conflict):
    """`function.slug_taken`"""


class FunctionSourceMissing(errors.Conflict):
    """`function.source_missing`"""


class FunctionVersionNotFound(errors.NotFound):
    """`function.version_not_found`"""


class IdempotencyInFlight(errors.Conflict):
    """`idempotency.in_flight`"""


class IdempotencyKeyReused(errors.Conflict):
    """`idempotency.key_reused`"""


class InsightsTooExpensive(errors.InvalidRequest):
    """`insights.too_expensive`"""


class InsightsUnavailable(errors.ServerFault):
    """`insights.unavailable`"""


class Internal(errors.ServerFault):
    """`internal`"""


class InvalidRequest(errors.InvalidRequest):
    """`invalid_request`"""


class InviteNotFound(errors.NotFound):
    """`invite.not_found`"""


class JobAlreadyFinal(errors.Conflict):
    """`job.already_final`"""


class JobNotFound(errors.NotFound):
    """`job.not_found`"""


class KeyNotFound(errors.NotFound):
    """`key.not_found`"""


class KeyReachesFurther(errors.PermissionDenied):
    """`key.reaches_further`"""


class KeyRevoked(errors.Conflict):
    """`key.revoked`"""


class LanguageUnsupported(errors.InvalidRequest):
    """`language.unsupported`"""


class MagicLinkDisabled(errors.Conflict):
    """`magic_link.disabled`"""


class MalwareNotQuarantined(errors.Conflict):
    """`malware.not_quarantined`"""


class MemberExists(errors.Conflict):
    """`member.exists`"""


class MemberNotFound(errors.NotFound):
    """`member.not_found`"""


class ModeTest(errors.PermissionDenied):
    """`mode.test`"""


class NodeUnavailable(errors.ServerFault):
    """`node.unavailable`"""


class PasswordResetNotFound(errors.NotFound):
    """`password_reset.not_found`"""


class ProjectNotFound(errors.NotFound):
    """`project.not_found`"""


class ProjectOwnerDiffers(errors.Conflict):
    """`project.owner_differs`"""


class QuotaBranches(errors.QuotaExceeded):
    """`quota.branches`"""


class QuotaDeletedSites(errors.QuotaExceeded):
    """`quota.deleted_sites`"""


class QuotaDnsRecords(errors.QuotaExceeded):
    """`quota.dns_records`"""


class QuotaDomains(errors.QuotaExceeded):
    """`quota.domains`"""


class QuotaEmails(errors.QuotaExceeded):
    """`quota.emails`"""


class QuotaEnvironments(errors.QuotaExceeded):
    """`quota.environments`"""


class QuotaExports(errors.QuotaExceeded):
    """`quota.exports`"""


class QuotaFunctions(errors.QuotaExceeded):
    """`quota.functions`"""


class QuotaInvites(errors.QuotaExceeded):
    """`quota.invites`"""


class QuotaJobs(errors.QuotaExceeded):
    """`quota.jobs`"""


class QuotaKeys(errors.QuotaExceeded):
    """`quota.keys`"""


class QuotaProjects(errors.QuotaExceeded):
    """`quota.projects`"""


class QuotaSites(errors.QuotaExceeded):
    """`quota.sites`"""


class QuotaStorage(errors.QuotaExceeded):
    """`quota.storage`"""


class QuotaTeams(errors.QuotaExceeded):
    """`quota.teams`"""


class QuotaUploads(errors.QuotaExceeded):
    """`quota.uploads`"""


class QuotaWebhookEndpoints(errors.QuotaExceeded):
    """`quota.webhook_endpoints`"""


class RateLimitExceeded(errors.RateLimited):
    """`rate_limit.exceeded`"""


class RateLimitMagicLinks(errors.RateLimited):
    """`rate_limit.magic_links`"""


class RateLimitStreams(errors.RateLimited):
    """`rate_limit.streams`"""


class RegionUnavailable(errors.InvalidRequest):
    """`region.unavailable`"""


class RequestCursorInvalid(errors.InvalidRequest):
    """`request.cursor_invalid`"""


class RequestFieldInvalid(errors.InvalidRequest):
    """`request.field_invalid`"""


class RequestMalformed(errors.InvalidRequest):
    """`request.malformed`"""


class RequestTooLarge(errors.InvalidRequest):
    """`request.too_large`"""


class ResourceNotFound(errors.NotFound):
    """`resource.not_found`"""


class RoleInsufficient(errors.PermissionDenied):
    """`role.insufficient`"""


class RuntimeUnavailable(errors.InvalidRequest):
    """`runtime.unavailable`"""


class ScopeInsufficient(errors.PermissionDenied):
    """`scope.insufficient`"""


class SecretNotFound(errors.NotFound):
    """`secret.not_found`"""


class SecretsExhausted(errors.Conflict):
    """`secrets.exhausted`"""


class SessionNotFound(errors.NotFound):
    """`session.not_found`"""


class SiteAnswerInvalid(errors.ServerFault):
    """`site.answer_invalid`"""


class SiteBusy(errors.Conflict):
    """`site.busy`"""


class SiteConfirmDomainMismatch(errors.InvalidRequest):
    """`site.confirm_domain_mismatch`"""


class SiteDomainTaken(errors.Conflict):
    """`site.domain_taken`"""


class SiteFailed(errors.ServerFault):
    """`site.failed`"""


class SiteNotFound(errors.NotFound):
    """`site.not_found`"""


class SiteNotRecoverable(errors.Conflict):
    """`site.not_recoverable`"""


class SiteNotRunning(errors.Conflict):
    """`site.not_running`"""


class SiteQuestionsExceeded(errors.RateLimited):
    """`site.questions_exceeded`"""


class SiteRefused(errors.InvalidRequest):
    """`site.refused`"""


class SiteTargetNotAdministered(errors.PermissionDenied):
    """`site.target_not_administered`"""


class SiteTimeout(errors.ServerFault):
    """`site.timeout`"""


class SnapshotNotFound(errors.NotFound):
    """`snapshot.not_found`"""


class TeamHasSites(errors.Conflict):
    """`team.has_sites`"""


class TeamLastOwner(errors.Conflict):
    """`team.last_owner`"""


class TeamNotFound(errors.NotFound):
    """`team.not_found`"""


class Unavailable(errors.ServerFault):
    """`unavailable`"""


class VerificationNotFound(errors.NotFound):
    """`verification.not_found`"""


class VersionUnknown(errors.InvalidRequest):
    """`version.unknown`"""


class WebhookUrlNotAllowed(errors.InvalidRequest):
    """`webhook.url_not_allowed`"""


class WebhookDeliveryNotFound(errors.NotFound):
    """`webhook_delivery.not_found`"""


class WebhookEndpointDisabled(errors.Conflict):
    """`webhook_endpoint.disabled`"""


class WebhookEndpointNotFound(errors.NotFound):
    """`webhook_endpoint.not_found`"""


BY_CODE: dict[str, type[errors.APIError]] = {
    "account.email_taken": AccountEmailTaken,
    "account.email_unverified": AccountEmailUnverified,
    "account.not_found": AccountNotFound,
    "account.password_incorrect": AccountPasswordIncorrect,
    "account.team_not_joined": AccountTeamNotJoined,
    "artifact.not_found": ArtifactNotFound,
    "auth.account_suspended": AuthAccountSuspended,
    "auth.cross_site": AuthCrossSite,
    "auth.expired": AuthExpired,
    "auth.invalid": AuthInvalid,
    "auth.ip_not_allowed": AuthIpNotAllowed,
    "auth.malformed": AuthMalformed,
    "auth.missing": AuthMissing,
    "auth.revoked": AuthRevoked,
    "auth.sign_in_again": AuthSignInAgain,
    "auth.sign_in_refused": AuthSignInRefused,
    "binding.unsupported": BindingUnsupported,
    "build.not_found": BuildNotFound,
    "capability.unsupported": CapabilityUnsupported,
    "cms_user.not_found": CmsUserNotFound,
    "component.fixed": ComponentFixed,
    "component.managed_in_git": ComponentManagedInGit,
    "component.not_found": ComponentNotFound,
    "component.vulnerable": ComponentVulnerable,
    "content.not_found": ContentNotFound,
    "credential.not_found": CredentialNotFound,
    "cron.not_found": CronNotFound,
    "database.snapshot_needed": DatabaseSnapshotNeeded,
    "database.statement_refused": DatabaseStatementRefused,
    "database.timeout": DatabaseTimeout,
    "deployment.artifact_not_kept": DeploymentArtifactNotKept,
    "deployment.never_live": DeploymentNeverLive,
    "deployment.not_found": DeploymentNotFound,
    "deployment.nothing_live": DeploymentNothingLive,
    "detection.not_found": DetectionNotFound,
    "device.denied": DeviceDenied,
    "device.expired": DeviceExpired,
    "device.not_found": DeviceNotFound,
    "device.pending": DevicePending,
    "device.session_required": DeviceSessionRequired,
    "dns.unavailable": DnsUnavailable,
    "dns.zone_taken": DnsZoneTaken,
    "dns_record.conflicts": DnsRecordConflicts,
    "dns_record.exists": DnsRecordExists,
    "dns_record.not_found": DnsRecordNotFound,
    "domain.is_primary": DomainIsPrimary,
    "domain.is_wildcard": DomainIsWildcard,
    "domain.needs_zone": DomainNeedsZone,
    "domain.not_found": DomainNotFound,
    "domain.not_of_production": DomainNotOfProduction,
    "domain.not_verified": DomainNotVerified,
    "domain.overlaps": DomainOverlaps,
    "environment.busy": EnvironmentBusy,
    "environment.exists": EnvironmentExists,
    "environment.is_production": EnvironmentIsProduction,
    "environment.locked": EnvironmentLocked,
    "environment.not_found": EnvironmentNotFound,
    "environment.not_ready": EnvironmentNotReady,
    "environment.nothing_to_push": EnvironmentNothingToPush,
    "environment.push_not_allowed": EnvironmentPushNotAllowed,
    "function.not_found": FunctionNotFound,
    "function.route_taken": FunctionRouteTaken,
    "function.slug_taken": FunctionSlugTaken,
    "function.source_missing": FunctionSourceMissing,
    "function.version_not_found": FunctionVersionNotFound,
    "idempotency.in_flight": IdempotencyInFlight,
    "idempotency.key_reused": IdempotencyKeyReused,
    "insights.too_expensive": InsightsTooExpensive,
    "insights.unavailable": InsightsUnavailable,
    "internal": Internal,
    "invalid_request": InvalidRequest,
    "invite.not_found": InviteNotFound,
    "job.already_final": JobAlreadyFinal,
    "job.not_found": JobNotFound,
    "key.not_found": KeyNotFound,
    "key.reaches_further": KeyReachesFurther,
    "key.revoked": KeyRevoked,
    "language.unsupported": LanguageUnsupported,
    "magic_link.disabled": MagicLinkDisabled,
    "malware.not_quarantined": MalwareNotQuarantined,
    "member.exists": MemberExists,
    "member.not_found": MemberNotFound,
    "mode.test": ModeTest,
    "node.unavailable": NodeUnavailable,
    "password_reset.not_found": PasswordResetNotFound,
    "project.not_found": ProjectNotFound,
    "project.owner_differs": ProjectOwnerDiffers,
    "quota.branches": QuotaBranches,
    "quota.deleted_sites": QuotaDeletedSites,
    "quota.dns_records": QuotaDnsRecords,
    "quota.domains": QuotaDomains,
    "quota.emails": QuotaEmails,
    "quota.environments": QuotaEnvironments,
    "quota.exports": QuotaExports,
    "quota.functions": QuotaFunctions,
    "quota.invites": QuotaInvites,
    "quota.jobs": QuotaJobs,
    "quota.keys": QuotaKeys,
    "quota.projects": QuotaProjects,
    "quota.sites": QuotaSites,
    "quota.storage": QuotaStorage,
    "quota.teams": QuotaTeams,
    "quota.uploads": QuotaUploads,
    "quota.webhook_endpoints": QuotaWebhookEndpoints,
    "rate_limit.exceeded": RateLimitExceeded,
    "rate_limit.magic_links": RateLimitMagicLinks,
    "rate_limit.streams": RateLimitStreams,
    "region.unavailable": RegionUnavailable,
    "request.cursor_invalid": RequestCursorInvalid,
    "request.field_invalid": RequestFieldInvalid,
    "request.malformed": RequestMalformed,
    "request.too_large": RequestTooLarge,
    "resource.not_found": ResourceNotFound,
    "role.insufficient": RoleInsufficient,
    "runtime.unavailable": RuntimeUnavailable,
    "scope.insufficient": ScopeInsufficient,
    "secret.not_found": SecretNotFound,
    "secrets.exhausted": SecretsExhausted,
    "session.not_found": SessionNotFound,
    "site.answer_invalid": SiteAnswerInvalid,
    "site.busy": SiteBusy,
    "site.confirm_domain_mismatch": SiteConfirmDomainMismatch,
    "site.domain_taken": SiteDomainTaken,
    "site.failed": SiteFailed,
    "site.not_found": SiteNotFound,
    "site.not_recoverable": SiteNotRecoverable,
    "site.not_running": SiteNotRunning,
    "site.questions_exceeded": SiteQuestionsExceeded,
    "site.refused": SiteRefused,
    "site.target_not_administered": SiteTargetNotAdministered,
    "site.timeout": SiteTimeout,
    "snapshot.not_found": SnapshotNotFound,
    "team.has_sites": TeamHasSites,
    "team.last_owner": TeamLastOwner,
    "team.not_found": TeamNotFound,
    "unavailable": Unavailable,
    "verification.not_found": VerificationNotFound,
    "version.unknown": VersionUnknown,
    "webhook.url_not_allowed": WebhookUrlNotAllowed,
    "webhook_delivery.not_found": WebhookDeliveryNotFound,
    "webhook_endpoint.disabled": WebhookEndpointDisabled,
    "webhook_endpoint.not_found": WebhookEndpointNotFound,
}
