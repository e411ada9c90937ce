"""The settings with their defaults, and how layers of settings merge. No I/O."""

import hashlib
import hmac
import secrets
from ipaddress import ip_network
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from stead.artifacts.site_rules.compiler import compile_headers
from stead.artifacts.site_rules.headers import parse_headers
from stead.artifacts.site_rules.rules import RuleRefused
from stead.shared.errors import FieldInvalid

WafMode = Literal["on", "detection", "off"]
Protection = Literal["none", "password", "team"]

Settings = dict[str, dict[str, Any]]
"""Sparse settings by block: only the fields that were set."""

SECRET = "waf_partner_secret_key"  # noqa: S105
"""A secret that the API never returns. It is stored sealed."""

SECRET_DIGEST = "waf_partner_secret_digest"  # noqa: S105

PASSWORD = "preview_password"  # noqa: S105
"""Stored only as a digest."""
PASSWORD_DIGEST = "preview_password_digest"  # noqa: S105
PASSWORD_ITERATIONS = 20_000
"""An edge compares a password within a few milliseconds: it does nothing else meanwhile."""
SIGN_IN_KEY = "preview_sign_in_key"
"""The private key that signs the tokens of team members. It is stored sealed, as base64."""
SIGN_IN_PUBLIC_KEY = "preview_sign_in_public_key"
SIGN_IN_URL = "preview_sign_in_url"

MAX_ALLOWED_IPS_BYTES = 20 * 1024
MAX_HEADER_SETTINGS = 50
MAX_HEADERS_BYTES = 8 * 1024
"""Of the compiled form, which every edge of the region keeps in memory."""

AllowedIps = Annotated[list[Annotated[str, Meta(max_length=49)]], Meta(max_length=1000)]
PageCacheTtl = Annotated[int, Meta(ge=0, le=2_592_000)]
PhpWorkers = Annotated[int, Meta(ge=1, le=64)]
HotPageCount = Annotated[int, Meta(ge=0, le=500)]
HotTtl = Annotated[int, Meta(ge=60, le=86_400)]
HotInterval = Annotated[int, Meta(ge=30, le=3_600)]
HstsSeconds = Annotated[int, Meta(ge=0, le=63_072_000)]
SampleRate = Annotated[float, Meta(ge=0, le=1)]
PartnerText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$(?!\n)",
        extra={"expected": "It has ASCII characters and no spaces."},
    ),
]


PreviewPassword = Annotated[str, Meta(min_length=8, max_length=200)]


class Security(Struct, frozen=True):
    waf_engine_mode: WafMode = "detection"
    ip_reputation_enabled: bool = True
    login_lockout_enabled: bool = True
    magic_links_enabled: bool = True
    allowed_ips: list[str] = []
    hsts_seconds: int = 0
    waf_partner_client_id: str | None = None
    waf_partner_secret_key: str | None = None
    waf_partner_secret_digest: str | None = None
    """With it the edges recognize the key. Stored with the key; requests and responses do not have it."""
    preview_protection: Protection = "none"
    preview_password_digest: str | None = None
    preview_sign_in_key: str | None = None
    preview_sign_in_public_key: str | None = None
    preview_sign_in_url: str | None = None


class Performance(Struct, frozen=True):
    page_cache_ttl: int = 600
    php_workers: int = 4
    hot_page_count: int = 0
    hot_ttl_seconds: int = 300
    hot_refresh_interval_seconds: int = 240


class Observability(Struct, frozen=True):
    trace_sample_rate: float = 0.01


HeaderPath = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="A path. `:name` matches one segment, and `/*` at the end any rest.",
        examples=["/embed/*"],
        extra={"noun": "path"},
    ),
]
HeaderValues = Annotated[
    dict[str, str | None],
    Meta(
        min_length=1,
        max_length=30,
        description="Headers by name; null removes what the site or an earlier entry has set.",
        examples=[{"Content-Security-Policy": "frame-ancestors https://www.example.com"}],
    ),
]


class HeaderSetting(Struct, frozen=True, rename={"for_": "for"}, forbid_unknown_fields=True):
    """Response headers for all paths of a static site that match."""

    for_: HeaderPath
    values: HeaderValues


HeaderSettings = Annotated[list[HeaderSetting], Meta(max_length=MAX_HEADER_SETTINGS)]


class Serving(Struct, frozen=True):
    headers: list[HeaderSetting] = []


class Configuration(Struct, frozen=True):
    """The effective configuration of an environment."""

    security: Security = Security()
    performance: Performance = Performance()
    observability: Observability = Observability()
    serving: Serving = Serving()


def digest_partner_secret(secret: str) -> str:
    """The digest that edges compare. It is part of edge records, unlike the key itself."""
    return hmac.digest(secret.encode(), b"stead waf partner", hashlib.sha256).hex()


def digest_password(password: str) -> str:
    """The number of iterations, the salt and the digest."""
    salt = secrets.token_bytes(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, PASSWORD_ITERATIONS)
    return f"{PASSWORD_ITERATIONS} {salt.hex()} {digest.hex()}"


def merge(*layers: Settings) -> Settings:
    """A later layer overrides an earlier one, field by field; None removes a field."""
    result: Settings = {}
    for layer in layers:
        for block, fields in layer.items():
            kept = {**result.get(block, {}), **fields}
            result[block] = {name: value for name, value in kept.items() if value is not None}
    return {block: fields for block, fields in result.items() if fields}


def resolve(*layers: Settings) -> Configuration:
    """The configuration that results from the layers and the defaults."""
    return msgspec.convert(merge(*layers), Configuration)


def normalize_networks(texts: list[str]) -> list[str]:
    """Write every address as a network, in canonical form, without duplicates. Every edge of the region keeps
    the list in memory, so its size is limited."""
    networks = []
    for index, text in enumerate(texts):
        try:
            networks.append(str(ip_network(text, strict=False)))
        except ValueError:
            raise FieldInvalid(
                param=f"security.allowed_ips.{index}",
                reason=f"`{text}` is neither an IP address nor a network.",
            ) from None
    distinct = list(dict.fromkeys(networks))
    size = sum(len(network) for network in distinct)
    if size > MAX_ALLOWED_IPS_BYTES:
        raise FieldInvalid(
            param="security.allowed_ips",
            reason=f"The networks have {size} characters together."
            f" At most {MAX_ALLOWED_IPS_BYTES} are allowed.",
        )
    return distinct


def compile_header_settings(settings: list[HeaderSetting]) -> dict[str, Any] | None:
    """The form that edges look them up in; None without any. Refuses what no site may set."""
    rules = []
    for index, each in enumerate(settings):
        try:
            rules.append(parse_headers(each.for_, each.values))
        except RuleRefused as refused:
            reason = str(refused)
            raise FieldInvalid(
                param=f"serving.headers.{index}", reason=f"{reason[:1].upper()}{reason[1:]}."
            ) from None
    if not rules:
        return None
    compiled = compile_headers(rules)
    size = len(msgspec.json.encode(compiled))
    if size > MAX_HEADERS_BYTES:
        raise FieldInvalid(
            param="serving.headers",
            reason=f"The entries have {size} bytes together. At most {MAX_HEADERS_BYTES} are allowed.",
        )
    return compiled
