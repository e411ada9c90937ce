"""What the edges of a region are told, and in which words.

Everything is a record in one bucket of NATS, so a region has one history and an edge that has applied
revision N has applied all before it. A key is `<region>.<kind>.<name>`; an edge sees the keys of its own
region only.

    <region>.host.<host>                 Host: which environment answers
    <region>.environment.<env>           Environment: how it answers
    <region>.redirects.<site>.<part>     Redirects: a part of a site's rules
    <region>.certificate.<host>          Certificate: sealed for the edges of the region
    <region>.challenge.<token>           Challenge: what a certificate authority is to be shown
    <region>.purge.<env>.all|url|tag…    Purge: its revision is the moment of the purge
    <region>.node.<node>                 Peer: where another edge of the region is found

The node's feed hands records to its nginx as `Line`s, one JSON a line, over a socket that only it can open.
"""

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from stead.protocol.subjects import EDGE_BUCKET, bucket_keys, token
from stead.shared.runtimes import Runtime

BUCKET = EDGE_BUCKET
DELETIONS_KEPT_SECONDS = 30 * 86_400
"""A node that was away for half as long reads everything again."""
PURGES_KEPT_SECONDS = 2_592_000 + 86_400
"""Longer than any page may stay in a cache."""
PLACEHOLDER = "placeholder"
"""The release of an environment before its first deployment."""

_ALL_KEYS = bucket_keys(BUCKET).removesuffix(">")

Kind = Literal["host", "environment", "redirects", "certificate", "challenge", "purge", "node"]
State = Literal["serving", "suspended", "unreleased"]
Waf = Literal["on", "detection", "off"]


class Host(Struct, frozen=True, omit_defaults=True):
    environment: str
    https: bool = False
    """It has a certificate: whoever comes without is sent to it."""


class RedirectSet(Struct, frozen=True):
    """Which of the rules that arrived are in force. `lengths` are those of the prefixes that end in `*`,
    longest first: as many look-ups, however many rules."""

    version: str
    lengths: tuple[int, ...] = ()


class Environment(Struct, frozen=True, omit_defaults=True):
    site: str
    node: str
    """The node that carries it; the other edges of the region pass its visitors on to that one."""
    runtime: Runtime = "static"
    state: State = "serving"
    reason: str = ""
    """Why it does not serve, in a word or two, for the owner's eyes."""
    release: str = PLACEHOLDER
    """A directory of `releases` in the node's data, named by what is in it, never rewritten."""
    redirects: RedirectSet | None = None
    allowed_ips: tuple[str, ...] = ()
    """Addresses and networks, none for everyone."""
    waf: Waf = "detection"
    login_lockout: bool = False
    cache_ttl: int = 0
    """Seconds a page may be kept; 0 for never."""
    hsts: int = 0
    """Seconds that a browser is to insist on HTTPS; 0 for not at all."""
    trace_sample_rate: float = 0.01


class Rule(Struct, frozen=True, array_like=True):
    path: str
    """What it matches. A last `*` stands for any rest."""
    to: str
    """Where it leads. A last `*` is replaced by that rest."""
    code: int


class Redirects(Struct, frozen=True):
    version: str
    rules: tuple[Rule, ...]


class Certificate(Struct, frozen=True):
    """The chain in PEM, and its key sealed with the key of the region's edges."""

    chain: str
    sealed_key: str


class OpenCertificate(Struct, frozen=True):
    """As an nginx is told it: the one place where the key stands in clear is its memory."""

    chain: str
    key: str


class Challenge(Struct, frozen=True):
    host: str
    answer: str


class Purge(Struct, frozen=True, omit_defaults=True):
    """All pages of an environment, or those of one URL, or those that carry one tag."""

    environment: str
    url: str | None = None
    """Path and query, as a visitor asks for it."""
    tag: str | None = None


class Peer(Struct, frozen=True):
    address: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$")]
    """`host:port` where its edge takes visitors of plain HTTP."""


Record = Host | Environment | Redirects | Certificate | Challenge | Purge | Peer


class Line(Struct, frozen=True):
    """One record as an nginx is told it; without a value it is to be forgotten."""

    kind: Kind
    name: str
    revision: int
    value: Any = None


class Applied(Struct, frozen=True):
    """A node says: visitors of my edge meet everything up to this revision."""

    node: str
    region: str
    revision: int


def host_key(region: str, host: str) -> str:
    return f"{token(region)}.host.{'.'.join(token(label) for label in host.split('.'))}"


def environment_key(region: str, environment: str) -> str:
    return f"{token(region)}.environment.{token(environment)}"


def redirects_key(region: str, site: str, part: int) -> str:
    return f"{token(region)}.redirects.{token(site)}.{part}"


def certificate_key(region: str, host: str) -> str:
    return f"{token(region)}.certificate.{'.'.join(token(label) for label in host.split('.'))}"


def challenge_key(region: str, challenge: str) -> str:
    return f"{token(region)}.challenge.{token(challenge)}"


def purge_key(region: str, purge: Purge) -> str:
    """Two purges of the same thing are one record: the later one counts."""
    if purge.url is not None:
        what = f"url.{_digest(purge.url)}"
    elif purge.tag is not None:
        what = f"tag.{_digest(purge.tag)}"
    else:
        what = "all"
    return f"{token(region)}.purge.{token(purge.environment)}.{what}"


def node_key(region: str, node: str) -> str:
    return f"{token(region)}.node.{token(node)}"


def keys_of(region: str) -> str:
    """The subjects of everything the edges of a region are told."""
    return f"{bucket_subject(token(region))}.>"


def bucket_subject(key: str) -> str:
    return f"{_ALL_KEYS}{key}"


def key_of(subject: str) -> str:
    return subject.removeprefix(_ALL_KEYS)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


encode = msgspec.json.encode
decode_applied = msgspec.json.Decoder(Applied).decode
