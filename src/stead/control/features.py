"""Every feature of the control plane, one line each.

The API, the worker, the generated documents and the test suites read this list. A feature is a folder next to
this file with a `feature.py` that declares what it consists of (see `feature.py` here).
"""

from collections.abc import Sequence
from importlib import import_module

from stead.control.feature import Feature
from stead.control.http.description import openapi_operations
from stead.control.http.operations import Operation
from stead.control.http.visibility import Resolvers
from stead.control.jobs.definition import WorkflowCatalog
from stead.control.outbox.event_types import EventCatalog
from stead.control.sealed_columns import SealedColumn

NAMES = (
    "accounts",
    "keys",
    "devices",
    "teams",
    "members",
    "invites",
    "projects",
    "sites",
    "wordpress",
    "php",
    "environments",
    "domains",
    "configuration",
    "redirects",
    "cache",
    "exec",
    "access",
    "git",
    "uploads",
    "secrets",
    "builds",
    "artifacts",
    "deployments",
    "functions",
    "previews",
    "backups",
    "components",
    "content",
    "cms_users",
    "cron",
    "database",
    "dns_records",
    "vulnerabilities",
    "malware",
    "jobs",
    "audit",
    "events",
    "notifications",
    "webhooks",
    "certificates",
    "nodes",
    "insights",
    "http",
)

FEATURES: tuple[Feature, ...] = tuple(
    import_module(f"stead.control.{name}.feature").FEATURE for name in NAMES
)


def all_operations(*, preview: bool = True, base_url: str = "/") -> list[Operation]:
    """Without those marked Preview if they are turned off; the description leaves them out too."""
    declared = [each for feature in FEATURES for group in feature.operations for each in group]
    offered = [operation for operation in declared if preview or not operation.preview]
    offered += openapi_operations(lambda: offered, id_prefixes(), job_results(), base_url=base_url)
    return offered


def id_prefixes() -> dict[str, str]:
    """The prefix of the identifier in each path parameter."""
    return {name: prefix for feature in FEATURES for name, prefix in feature.id_prefixes.items()}


def job_results() -> dict[str, frozenset[str]]:
    """The keys of the result of each type of job."""
    found: dict[str, frozenset[str]] = {}
    for feature in FEATURES:
        for workflow in feature.workflows:
            kind = workflow.kind
            found[kind.type] = found.get(kind.type, frozenset()) | kind.results
    return found


def resolvers() -> Resolvers:
    return Resolvers(resolver for feature in FEATURES for resolver in feature.resolvers)


def sealed_columns() -> list[SealedColumn]:
    return [column for feature in FEATURES for column in feature.sealed_columns]


def workflows(features: Sequence[Feature] = FEATURES) -> WorkflowCatalog:
    return WorkflowCatalog(workflow for feature in features for workflow in feature.workflows)


def event_catalog(features: Sequence[Feature] = FEATURES) -> EventCatalog:
    return EventCatalog(event for feature in features for event in feature.events)
