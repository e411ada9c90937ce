"""What a function is, and what it may be. No I/O."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from stead.control.http.modes import ModeBound
from stead.control.http.principal import Mode
from stead.control.http.visibility import Governance, Governed, Owned
from stead.control.sites.capabilities import CAPABILITIES
from stead.protocol.work import BindingKind
from stead.shared.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from stead.shared.ids import AccountId, FunctionId, FunctionVersionId, SiteId, TeamId
from stead.shared.roles import Role
from stead.shared.runtimes import Runtime

Language = Literal["javascript", "typescript", "rust", "tinygo", "go", "c", "zig", "swift"]
BuildState = Literal["", "building", "deploying", "live", "failed"]

FILENAMES: dict[Language, str] = {
    "javascript": "function.js",
    "typescript": "function.ts",
    "rust": "function.rs",
    "go": "function.go",
    "c": "function.c",
    "zig": "function.zig",
}
"""The languages with a toolchain, and the name of a source without one."""
WITHOUT_TOOLCHAIN: dict[Language, str] = {
    "tinygo": "there is no package of its compiler that a builder could install",
    "swift": "its compiler for WebAssembly cannot use arrays and closures",
}

MOST_FUNCTIONS = 50
"""Of one site: all of them are in one edge record."""
MOST_WITH_DELETED = 2 * MOST_FUNCTIONS
"""Of one site, with those that were deleted and wait for their removal: each of them is a job."""
MOST_VERSIONS = 20
"""Of one function; older ones are forgotten."""
MAX_SOURCE_BYTES = 256 << 10
MAX_ENV_BYTES = 64 << 10
MAX_SETTINGS_BYTES = 256 << 10
"""The variables and bindings of all functions of a site: a node gets them in one message."""
DEFAULT_PREFIX = "/_fn/"
FIRST_COMPATIBILITY_DATE = "2026-11-01"
LIMITED_AGAIN_AFTER = timedelta(minutes=15)
"""How often an event says that requests of a function are refused."""

_ROUTE = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,199}")
_HOST = re.compile(
    r"(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+(:[0-9]{1,5})?"
)
_RESERVED_ROUTES = ("/.well-known/acme-challenge", "/_stead")


@dataclass(frozen=True, slots=True)
class VisibleFunction(Governed, Owned, ModeBound):
    """A function of a site that the caller can see."""

    id: FunctionId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    domain: str
    site_status: str
    runtime: Runtime
    slug: str
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.site_id)

    def supports(self, capability: str) -> bool:
        return CAPABILITIES[self.runtime][capability].supported


@dataclass(frozen=True, slots=True)
class Function:
    """A function as jobs see it."""

    id: FunctionId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    mode: Mode
    domain: str
    slug: str
    language: Language
    bindings: list[dict[str, Any]]
    env: dict[str, str]
    secret_refs: list[str]
    limits: dict[str, int]
    route_path: str
    fresh_instances: bool
    compatibility_date: str
    source: str | None
    filename: str | None
    active_version_id: str | None
    served_version_id: str | None
    is_deleted: bool

    @property
    def owner(self) -> str:
        return self.team_id or self.account_id or ""


@dataclass(frozen=True, slots=True)
class Version:
    id: FunctionVersionId
    function_id: FunctionId
    artifact_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Route:
    """A function that visitors reach."""

    slug: str
    route_path: str
    version: str
    limits: dict[str, int]

    @property
    def path(self) -> str:
        return route_of(self.slug, self.route_path)


def route_of(slug: str, route_path: str) -> str:
    """The path without a slash at its end: it matches itself and everything below it."""
    return (route_path or f"{DEFAULT_PREFIX}{slug}").rstrip("/")


def is_route(path: str) -> bool:
    clean = path.rstrip("/")
    if _ROUTE.fullmatch(path) is None or "//" in path or "/./" in f"{path}/" or "/../" in f"{path}/":
        return False
    return not any(clean == reserved or clean.startswith(f"{reserved}/") for reserved in _RESERVED_ROUTES)


def is_host_pattern(text: str) -> bool:
    if _HOST.fullmatch(text) is None or len(text) > 253:
        return False
    port = text.rpartition(":")[2] if ":" in text else ""
    return not port or 0 < int(port) < 1 << 16


KINDS: tuple[BindingKind, ...] = ("kv", "coord", "fetch", "service")


class FunctionNotFound(NotFound):
    code = "function.not_found"
    message = "The function was not found."
    remedy = "List the functions that this credential can see with `GET /v1/functions`."


class VersionNotFound(NotFound):
    code = "function.version_not_found"
    message = "The function has no such version."
    remedy = "List its versions with `GET /v1/functions/{function_id}/versions`."


class SlugTaken(Conflict):
    code = "function.slug_taken"
    message = "Another function of the site has the slug {slug}."
    remedy = "Choose another slug, or delete the other function."


class RouteTaken(Conflict):
    code = "function.route_taken"
    message = "Another function of the site answers at {path}."
    remedy = "Choose another `route_path`, or change that of the other function."


class SourceMissing(Conflict):
    code = "function.source_missing"
    message = "The function has no stored source: it was never built, or built from an upload."
    remedy = "Send `source` or `upload_id` with the request."


class LanguageUnsupported(InvalidRequest):
    code = "language.unsupported"
    message = "The build toolchain does not support {language}: {reason}."
    remedy = "Use one of: javascript, typescript, rust, go, c, zig."


class BindingUnsupported(InvalidRequest):
    code = "binding.unsupported"
    message = "Functions cannot have a binding of the kind {kind}."
    remedy = "Use `kv`, `coord`, `fetch` or `service`."


class FunctionsExhausted(QuotaExceeded):
    code = "quota.functions"
    message = "A site has at most {limit} functions."
    remedy = "Delete a function that is not needed any more, or wait until deleted ones are removed."


class SecretMissing(Conflict):
    code = "function.secret_missing"
    message = "Production has no secret with the name {name}, which `secret_refs` contains."
    remedy = "Set it with `PUT …/environments/production/secrets/{name}`, or remove it from `secret_refs`."


class ServiceMissing(Conflict):
    code = "function.service_missing"
    message = "The site has no function with the slug {slug}, which a binding names."
    remedy = "Create that function first, or change the binding."
