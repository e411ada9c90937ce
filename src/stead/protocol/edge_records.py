"""Edge records: what the edges of a region serve, and how.

All records are in one NATS bucket, so a region has one history, and an edge that has applied revision N has
applied every revision before it. A key is `<region>.<kind>.<name>`; an edge can read the keys of its own
region only.

    <region>.host.<host>                 HostRecord: the environment that answers; `_wildcard.example.com` for
                                         hosts directly below example.com that have no record
    <region>.environment.<env>           EnvironmentRecord: how it is served
    <region>.redirects.<site>.<part>     RedirectsRecord: a part of a site's redirects
    <region>.certificate.<host>          CertificateRecord: sealed for the edges of the region
    <region>.challenge.<token>           ChallengeRecord: the answer to an ACME challenge
    <region>.purge.<env>.all|url|tag…    PurgeRecord: its revision is the time of the purge
    <region>.node.<node>                 PeerRecord: the address of another edge of the region
    <region>.complete.all                CompleteRecord: the bucket holds every record of the region

The node's feed sends records to its nginx as `RecordLine`s, one JSON object per line, over a private socket.
"""

import hashlib
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from stead.protocol.subjects import EDGE_BUCKET, bucket_keys, token
from stead.shared.runtimes import Runtime

BUCKET = EDGE_BUCKET
DELETIONS_KEPT_SECONDS = 30 * 86_400
"""A node that was offline for half as long reads all records again."""
PURGES_KEPT_SECONDS = 2_592_000 + 86_400
"""Longer than any page may stay in a cache."""
PLACEHOLDER = "placeholder"
"""The release of an environment before its first deployment."""

MAX_SKIPPED_KEYS = 500
MAX_PURGES = 256
"""An environment with more purged URLs and tags than this has all its pages purged instead."""
SUPERSEDED_KEPT_SECONDS = 600
"""How long the bucket keeps the deletion of a purge. A node that misses it keeps the purge for longer."""

WILDCARD_LABEL = "_wildcard"
"""Instead of the `*` of a wildcard domain. nginx looks there for hosts that have no record."""

_ALL_KEYS = bucket_keys(BUCKET).removesuffix(">")

RecordKind = Literal["host", "environment", "redirects", "certificate", "challenge", "purge", "node"]
ServingState = Literal["serving", "suspended", "unreleased"]
FirewallMode = Literal["on", "detection", "off"]


class HostRecord(Struct, frozen=True, omit_defaults=True):
    environment: str
    https: bool = False
    """It has a certificate: plain HTTP is redirected to HTTPS."""
    redirect_to: str = ""
    """Another host of the site that all visitors are redirected to."""
    release: str = ""
    """It always shows this release of the environment: it is the permanent host of a deployment."""


class RedirectSet(Struct, frozen=True):
    """The version of a site's redirects that is active. `lengths` are the lengths of the prefixes that end in
    `*`, longest first: the edge makes one look-up for each length, however many redirects there are."""

    version: str
    lengths: tuple[int, ...] = ()


class PartnerRecord(Struct, frozen=True):
    """A firewall of another provider, through which all visitors must come."""

    client: str
    digest: str
    """HMAC-SHA256 of a constant with the key of the partner, in hexadecimal digits."""


class ProtectionRecord(Struct, frozen=True, omit_defaults=True):
    """Who may see previews: those who know a password, or members of the team of the site, who come with a
    token that the control plane has signed."""

    mode: Literal["password", "team"]
    everywhere: bool = False
    """All hosts of the environment are protected, not only those of its deployments."""
    iterations: int = 0
    salt: str = ""
    digest: str = ""
    """PBKDF2 with SHA-256 of the password, in hexadecimal digits."""
    public_key: str = ""
    """An Ed25519 key, in hexadecimal digits."""
    sign_in: str = ""
    """The page where members sign in."""


class FunctionRoute(Struct, frozen=True, array_like=True):
    """A function answers requests for a path and everything below it."""

    path: str
    """Without a slash at its end; empty for the whole site."""
    version: str
    """Names the socket on the node."""
    requests_per_second: int
    request_bytes: int


class EnvironmentRecord(Struct, frozen=True, omit_defaults=True):
    site: str
    node: str
    """The node that has it; the other edges of the region forward its visitors to that node."""
    runtime: Runtime = "static"
    state: ServingState = "serving"
    reason: str = ""
    """Why it is not served, in a few words for its owner."""
    release: str = PLACEHOLDER
    """A directory in the node's `releases`, named by its content and never changed."""
    redirects: RedirectSet | None = None
    allowed_ips: tuple[str, ...] = ()
    """Addresses and networks that may visit it; empty for all."""
    waf: FirewallMode = "detection"
    login_lockout: bool = False
    cache_ttl: int = 0
    """How many seconds a page may be cached; 0 disables the cache."""
    hot_pages: int = 0
    """How many of the most visited pages are kept in the cache."""
    hot_ttl: int = 300
    """How many seconds such a page is cached."""
    hot_interval: int = 240
    """How many seconds pass until it is fetched again."""
    ip_reputation: bool = False
    """Refuse visitors from the networks on the operator's list."""
    partner: PartnerRecord | None = None
    hsts: int = 0
    """`max-age` of Strict-Transport-Security in seconds; 0 omits the header."""
    trace_sample_rate: float = 0.01
    functions: tuple[FunctionRoute, ...] = ()
    """The longest path comes first."""
    noindex: bool = False
    """Search engines are asked not to show its pages, because it is a copy of another one."""
    protection: ProtectionRecord | None = None
    headers: dict[str, Any] | None = None
    """Headers for paths of static sites, compiled as those of a release. They come after those."""
    quarantined: tuple[str, ...] = ()
    """Decoded paths of URLs whose files are in quarantine."""


class EdgeRedirect(Struct, frozen=True, array_like=True):
    path: str
    """The path that it matches. A `*` at the end matches any rest."""
    to: str
    """The destination. A `*` at the end is replaced by that rest."""
    code: int


class RedirectsRecord(Struct, frozen=True):
    version: str
    rules: tuple[EdgeRedirect, ...]


class CertificateRecord(Struct, frozen=True):
    """The chain in PEM, and its private key encrypted with the key of the region's edges."""

    chain: str
    sealed_key: str


class DecryptedCertificate(Struct, frozen=True):
    """As nginx receives it. The private key is unencrypted only in nginx's memory."""

    chain: str
    key: str


class ChallengeRecord(Struct, frozen=True):
    host: str
    answer: str


class PurgeRecord(Struct, frozen=True, omit_defaults=True):
    """Remove all cached pages of an environment, or those of one URL, or those with one tag."""

    environment: str
    url: str | None = None
    """Path and query, as in a request."""
    tag: str | None = None


_PEER_ADDRESS = r"^[A-Za-z0-9.-]{1,253}:[0-9]{1,5}\Z"


def is_peer_address(text: str) -> bool:
    return re.match(_PEER_ADDRESS, text) is not None


class PeerRecord(Struct, frozen=True):
    address: Annotated[str, msgspec.Meta(pattern=_PEER_ADDRESS)]
    """`host:port` where its edge accepts plain HTTP."""


class CompleteRecord(Struct, frozen=True):
    """Every record of the region was published since the bucket was created. Edges ignore it; it is for the
    control plane, which otherwise could not tell a bucket that has lost its records from a new one."""


EdgeRecord = (
    HostRecord
    | EnvironmentRecord
    | RedirectsRecord
    | CertificateRecord
    | ChallengeRecord
    | PurgeRecord
    | PeerRecord
    | CompleteRecord
)


class RecordLine(Struct, frozen=True):
    """One record as nginx receives it; without a value the record is deleted."""

    kind: RecordKind
    name: str
    revision: int
    value: Any = None


class AppliedRevision(Struct, frozen=True, omit_defaults=True):
    """A node reports that its edge has applied every record up to this revision, except those that do not fit
    in its memory."""

    node: str
    region: str
    revision: int
    skipped: int = 0
    """How many records do not fit."""
    skipped_keys: tuple[str, ...] = ()
    """The keys of the latest of them, at most MAX_SKIPPED_KEYS."""


def name_of_host(host: str) -> str:
    """The name of a host in keys and at the edges, where no `*` can be. Only a wildcard has an underscore."""
    return f"{WILDCARD_LABEL}.{host.removeprefix('*.')}" if host.startswith("*.") else host


def host_of_name(name: str) -> str:
    label, dot, rest = name.partition(".")
    return f"*{dot}{rest}" if label == WILDCARD_LABEL else name


def name_of_wildcard(host: str) -> str:
    """The name of the wildcard that a host is directly below."""
    return f"{WILDCARD_LABEL}.{host.partition('.')[2]}"


def host_key(region: str, host: str) -> str:
    return f"{token(region)}.host.{_tokens(name_of_host(host))}"


def _tokens(name: str) -> str:
    return ".".join(token(label) for label in name.split("."))


def environment_key(region: str, environment: str) -> str:
    return f"{token(region)}.environment.{token(environment)}"


def kind_and_name(key: str) -> tuple[str, str]:
    _, kind, name = key.split(".", 2)
    return kind, name


def environment_of(key: str) -> str | None:
    """The environment whose record has this key; None for records of other kinds."""
    kind, name = kind_and_name(key)
    return name if kind == "environment" else None


def redirects_key(region: str, site: str, part: int) -> str:
    return f"{token(region)}.redirects.{token(site)}.{part}"


def certificate_key(region: str, host: str) -> str:
    return f"{token(region)}.certificate.{_tokens(name_of_host(host))}"


def challenge_key(region: str, challenge: str) -> str:
    return f"{token(region)}.challenge.{token(challenge)}"


def purge_key(region: str, purge: PurgeRecord) -> str:
    """Two purges of the same pages have the same key, so the later one replaces the earlier one."""
    if purge.url is not None:
        what = f"url.{_digest(purge.url)}"
    elif purge.tag is not None:
        what = f"tag.{_digest(purge.tag)}"
    else:
        what = "all"
    return f"{token(region)}.purge.{token(purge.environment)}.{what}"


def purge_keys_of(region: str, environment: str) -> str:
    """The beginning of the keys of all purges of an environment."""
    return f"{token(region)}.purge.{token(environment)}."


def is_purge_key(key: str) -> bool:
    return key.split(".", 2)[1] == "purge"


def node_key(region: str, node: str) -> str:
    return f"{token(region)}.node.{token(node)}"


def complete_key(region: str) -> str:
    return f"{token(region)}.complete.all"


def region_subjects(region: str) -> str:
    """The subjects of all records of a region."""
    return f"{bucket_subject(token(region))}.>"


def bucket_subject(key: str) -> str:
    return f"{_ALL_KEYS}{key}"


def key_of_subject(subject: str) -> str:
    return subject.removeprefix(_ALL_KEYS)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


encode = msgspec.json.encode
decode_applied = msgspec.json.Decoder(AppliedRevision).decode
