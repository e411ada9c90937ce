"""The JSON shapes of configuration: complete in responses, sparse in changes."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.configuration.rules import (
    PASSWORD,
    PASSWORD_DIGEST,
    SECRET,
    AllowedIps,
    Configuration,
    HeaderSetting,
    HeaderSettings,
    HotInterval,
    HotPageCount,
    HotTtl,
    HstsSeconds,
    PageCacheTtl,
    PartnerText,
    PhpWorkers,
    PreviewPassword,
    Protection,
    SampleRate,
    Settings,
    WafMode,
)
from stead.shared.sensitive import SENSITIVE

Allowed = Annotated[
    AllowedIps,
    Meta(
        description="Addresses and networks that may visit; an empty list allows everyone.",
        examples=[["203.0.113.0/24"]],
    ),
]
Hsts = Annotated[
    HstsSeconds,
    Meta(
        description="For how long browsers must use HTTPS, once there is a certificate; 0 sends no header.",
        examples=[0],
    ),
]
SecretIsSet = Annotated[
    bool, Meta(description="Whether a key is set. The key itself is never returned.", examples=[False])
]
ClientId = Annotated[str | None, Meta(examples=[None])]


MagicLinks = Annotated[
    bool,
    Meta(description="Whether sign-in links can be created and used, on WordPress sites.", examples=[True]),
]


PreviewProtection = Annotated[
    Protection,
    Meta(
        description="Who may see environments other than production, and the permanent URLs of deployments:"
        " everyone, those who know `preview_password`, or those who can see the site in the API and sign in.",
        examples=["none"],
    ),
]
PasswordIsSet = Annotated[
    bool, Meta(description="Whether a password is set. It is never returned.", examples=[False])
]


class SecurityView(Struct):
    waf_engine_mode: Annotated[WafMode, Meta(examples=["detection"])]
    ip_reputation_enabled: bool
    login_lockout_enabled: bool
    magic_links_enabled: MagicLinks
    allowed_ips: Allowed
    hsts_seconds: Hsts
    waf_partner_client_id: ClientId
    waf_partner_secret_key_set: SecretIsSet
    preview_protection: PreviewProtection
    preview_password_set: PasswordIsSet


class PerformanceView(Struct):
    page_cache_ttl: Annotated[
        PageCacheTtl, Meta(description="In seconds; 0 disables the cache.", examples=[600])
    ]
    php_workers: Annotated[PhpWorkers, Meta(examples=[4])]
    hot_page_count: Annotated[HotPageCount, Meta(examples=[0])]
    hot_ttl_seconds: Annotated[HotTtl, Meta(examples=[300])]
    hot_refresh_interval_seconds: Annotated[HotInterval, Meta(examples=[240])]


class ObservabilityView(Struct):
    trace_sample_rate: Annotated[SampleRate, Meta(examples=[0.01])]


Headers = Annotated[
    HeaderSettings,
    Meta(
        description="Response headers by path, for the files of static sites. They come after the rules of"
        " the site itself: a header that is set here replaces that of `_headers` and `stead.json`.",
        examples=[[{"for": "/fonts/*", "values": {"Access-Control-Allow-Origin": "*"}}]],
    ),
]


class ServingView(Struct):
    headers: Annotated[list[HeaderSetting], Meta(examples=[[]])]


class ConfigurationView(Struct):
    security: SecurityView
    performance: PerformanceView
    observability: ObservabilityView
    serving: ServingView

    @classmethod
    def of(cls, configuration: Configuration) -> "ConfigurationView":
        return msgspec.convert(_hide_secrets(msgspec.to_builtins(configuration)), cls)


class SecurityOverride(Struct, omit_defaults=True):
    waf_engine_mode: WafMode | UnsetType = UNSET
    ip_reputation_enabled: bool | UnsetType = UNSET
    login_lockout_enabled: bool | UnsetType = UNSET
    magic_links_enabled: MagicLinks | UnsetType = UNSET
    allowed_ips: Allowed | UnsetType = UNSET
    hsts_seconds: Hsts | UnsetType = UNSET
    waf_partner_client_id: str | UnsetType = UNSET
    waf_partner_secret_key_set: SecretIsSet | UnsetType = UNSET
    preview_protection: PreviewProtection | UnsetType = UNSET
    preview_password_set: PasswordIsSet | UnsetType = UNSET


class PerformanceOverride(Struct, omit_defaults=True):
    page_cache_ttl: Annotated[PageCacheTtl, Meta(examples=[0])] | UnsetType = UNSET
    php_workers: PhpWorkers | UnsetType = UNSET
    hot_page_count: HotPageCount | UnsetType = UNSET
    hot_ttl_seconds: HotTtl | UnsetType = UNSET
    hot_refresh_interval_seconds: HotInterval | UnsetType = UNSET


class ObservabilityOverride(Struct, omit_defaults=True):
    trace_sample_rate: SampleRate | UnsetType = UNSET


class ServingOverride(Struct, omit_defaults=True):
    headers: list[HeaderSetting] | UnsetType = UNSET


class OverrideView(Struct, omit_defaults=True):
    """Only the settings of this environment itself."""

    security: SecurityOverride | UnsetType = UNSET
    performance: PerformanceOverride | UnsetType = UNSET
    observability: ObservabilityOverride | UnsetType = UNSET
    serving: ServingOverride | UnsetType = UNSET

    @classmethod
    def of(cls, settings: Settings) -> "OverrideView":
        shown = {
            block: {name: value for name, value in fields.items() if name != SECRET}
            for block, fields in settings.items()
        }
        for secret, stored in _STORED_AS.items():
            if stored in settings.get("security", {}):
                shown["security"][f"{secret}_set"] = True
        return msgspec.convert(shown, cls)


class EnvironmentConfigurationView(Struct):
    inherited: ConfigurationView
    override: OverrideView
    effective: ConfigurationView


class SecurityChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    waf_engine_mode: Annotated[WafMode | None, Meta(examples=["on"])] | UnsetType = UNSET
    ip_reputation_enabled: bool | UnsetType | None = UNSET
    login_lockout_enabled: bool | UnsetType | None = UNSET
    magic_links_enabled: MagicLinks | UnsetType | None = UNSET
    allowed_ips: Allowed | UnsetType | None = UNSET
    hsts_seconds: Hsts | UnsetType | None = UNSET
    waf_partner_client_id: PartnerText | UnsetType | None = UNSET
    waf_partner_secret_key: (
        Annotated[
            PartnerText | None,
            Meta(
                description="Can be written, but is never returned.",
                examples=[None],
                extra_json_schema=SENSITIVE,
            ),
        ]
        | UnsetType
    ) = UNSET
    preview_protection: PreviewProtection | UnsetType | None = UNSET
    preview_password: (
        Annotated[
            PreviewPassword | None,
            Meta(
                description="For `preview_protection: password`. Can be written, but is never returned. Those"
                " who have entered an earlier password must enter the new one.",
                examples=[None],
                extra_json_schema=SENSITIVE,
            ),
        ]
        | UnsetType
    ) = UNSET


class PerformanceChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    page_cache_ttl: Annotated[PageCacheTtl | None, Meta(examples=[3600])] | UnsetType = UNSET
    php_workers: PhpWorkers | UnsetType | None = UNSET
    hot_page_count: HotPageCount | UnsetType | None = UNSET
    hot_ttl_seconds: HotTtl | UnsetType | None = UNSET
    hot_refresh_interval_seconds: HotInterval | UnsetType | None = UNSET


class ObservabilityChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    trace_sample_rate: SampleRate | UnsetType | None = UNSET


class ServingChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    headers: Headers | UnsetType | None = UNSET


class ConfigurationChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Fields that are not sent keep their value; null restores the inherited or default value."""

    security: SecurityChange | UnsetType = UNSET
    performance: PerformanceChange | UnsetType = UNSET
    observability: ObservabilityChange | UnsetType = UNSET
    serving: ServingChange | UnsetType = UNSET

    @property
    def settings(self) -> Settings:
        found: Settings = msgspec.to_builtins(self)
        return found


class UnchangedView(Struct):
    """The response to a change that names no setting."""

    changed: Annotated[bool, Meta(examples=[False])]
    message: Annotated[str, Meta(examples=["The request names no setting. Nothing was changed."])]


NOTHING_CHANGED = UnchangedView(False, "The request names no setting. Nothing was changed.")


_STORED_AS = {SECRET: SECRET, PASSWORD: PASSWORD_DIGEST}
"""The secrets that can be written, and what is stored of them."""


def _hide_secrets(blocks: dict[str, Any]) -> dict[str, Any]:
    security = dict(blocks["security"])
    are_set = {f"{secret}_set": security[stored] is not None for secret, stored in _STORED_AS.items()}
    del security[SECRET]
    return {**blocks, "security": {**security, **are_set}}
