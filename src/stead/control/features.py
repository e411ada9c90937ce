"""Every feature, one line each. The API, the worker, generated documents and test suites read this list."""

from collections.abc import Sequence

from stead.control.accounts import feature as accounts
from stead.control.artifacts import feature as artifacts
from stead.control.audit import feature as audit
from stead.control.builds import feature as builds
from stead.control.cache import feature as cache
from stead.control.certificates import feature as certificates
from stead.control.configuration import feature as configuration
from stead.control.deployments import feature as deployments
from stead.control.environments import feature as environments
from stead.control.events import feature as events
from stead.control.feature import Feature
from stead.control.git import feature as git
from stead.control.http import feature as http
from stead.control.http.description import describing
from stead.control.http.operations import Operation
from stead.control.http.visibility import Resolvers
from stead.control.invites import feature as invites
from stead.control.jobs import feature as jobs
from stead.control.jobs.definition import WorkflowCatalog
from stead.control.keys import feature as keys
from stead.control.members import feature as members
from stead.control.nodes import feature as nodes
from stead.control.notifications import feature as notifications
from stead.control.projects import feature as projects
from stead.control.redirects import feature as redirects
from stead.control.sites import feature as sites
from stead.control.teams import feature as teams
from stead.control.uploads import feature as uploads
from stead.control.webhooks import feature as webhooks

FEATURES: tuple[Feature, ...] = (
    accounts.FEATURE,
    keys.FEATURE,
    teams.FEATURE,
    members.FEATURE,
    invites.FEATURE,
    projects.FEATURE,
    sites.FEATURE,
    environments.FEATURE,
    configuration.FEATURE,
    redirects.FEATURE,
    cache.FEATURE,
    git.FEATURE,
    uploads.FEATURE,
    builds.FEATURE,
    artifacts.FEATURE,
    deployments.FEATURE,
    jobs.FEATURE,
    audit.FEATURE,
    events.FEATURE,
    notifications.FEATURE,
    webhooks.FEATURE,
    certificates.FEATURE,
    nodes.FEATURE,
    http.FEATURE,
)


def all_operations(*, preview: bool = True, base_url: str = "/") -> list[Operation]:
    declared = [each for feature in FEATURES for group in feature.operations for each in group]
    declared += describing(lambda: declared, id_prefixes(), base_url=base_url)
    return [operation for operation in declared if preview or not operation.preview]


def id_prefixes() -> dict[str, str]:
    """The prefix of the identifier in each path parameter."""
    return {name: prefix for feature in FEATURES for name, prefix in feature.id_prefixes.items()}


def resolvers() -> Resolvers:
    return Resolvers(resolver for feature in FEATURES for resolver in feature.resolvers)


def workflows(features: Sequence[Feature] = FEATURES) -> WorkflowCatalog:
    return WorkflowCatalog(workflow for feature in features for workflow in feature.workflows)
