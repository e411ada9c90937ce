"""The JSON shapes of configuration: whole when it is read, sparse when it is changed."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.configuration.rules import (
    SECRET,
    AllowedIps,
    Configuration,
    HotInterval,
    HotPageCount,
    HotTtl,
    HstsSeconds,
    PageCacheTtl,
    PartnerText,
    PhpWorkers,
    SampleRate,
    Settings,
    WafMode,
)

Allowed = Annotated[
    AllowedIps,
    Meta(description="Addresses and networks; none for everyone.", examples=[["203.0.113.0/24"]]),
]
Hsts = Annotated[
    HstsSeconds,
    Meta(
        description="How long browsers are to insist on HTTPS, once it has a certificate; 0 for not at all.",
        examples=[0],
    ),
]
SecretIsSet = Annotated[bool, Meta(description="The key itself is never shown.", examples=[False])]
ClientId = Annotated[str | None, Meta(examples=[None])]


class SecurityView(Struct):
    waf_engine_mode: Annotated[WafMode, Meta(examples=["detection"])]
    ip_reputation_enabled: bool
    login_lockout_enabled: bool
    allowed_ips: Allowed
    hsts_seconds: Hsts
    waf_partner_client_id: ClientId
    waf_partner_secret_key_set: SecretIsSet


class PerformanceView(Struct):
    page_cache_ttl: Annotated[PageCacheTtl, Meta(description="Seconds; 0 for never.", examples=[600])]
    php_workers: Annotated[PhpWorkers, Meta(examples=[4])]
    hot_page_count: Annotated[HotPageCount, Meta(examples=[0])]
    hot_ttl_seconds: Annotated[HotTtl, Meta(examples=[300])]
    hot_refresh_interval_seconds: Annotated[HotInterval, Meta(examples=[240])]


class ObservabilityView(Struct):
    trace_sample_rate: Annotated[SampleRate, Meta(examples=[0.01])]


class ConfigurationView(Struct):
    security: SecurityView
    performance: PerformanceView
    observability: ObservabilityView

    @classmethod
    def of(cls, configuration: Configuration) -> "ConfigurationView":
        return msgspec.convert(_shown(msgspec.to_builtins(configuration)), cls)


class SecurityOverride(Struct, omit_defaults=True):
    waf_engine_mode: WafMode | UnsetType = UNSET
    ip_reputation_enabled: bool | UnsetType = UNSET
    login_lockout_enabled: bool | UnsetType = UNSET
    allowed_ips: Allowed | UnsetType = UNSET
    hsts_seconds: Hsts | UnsetType = UNSET
    waf_partner_client_id: str | UnsetType = UNSET
    waf_partner_secret_key_set: SecretIsSet | UnsetType = UNSET


class PerformanceOverride(Struct, omit_defaults=True):
    page_cache_ttl: Annotated[PageCacheTtl, Meta(examples=[0])] | UnsetType = UNSET
    php_workers: PhpWorkers | UnsetType = UNSET
    hot_page_count: HotPageCount | UnsetType = UNSET
    hot_ttl_seconds: HotTtl | UnsetType = UNSET
    hot_refresh_interval_seconds: HotInterval | UnsetType = UNSET


class ObservabilityOverride(Struct, omit_defaults=True):
    trace_sample_rate: SampleRate | UnsetType = UNSET


class OverrideView(Struct, omit_defaults=True):
    """Only what is set on this environment."""

    security: SecurityOverride | UnsetType = UNSET
    performance: PerformanceOverride | UnsetType = UNSET
    observability: ObservabilityOverride | UnsetType = UNSET

    @classmethod
    def of(cls, settings: Settings) -> "OverrideView":
        shown = {
            block: {name: value for name, value in fields.items() if name != SECRET}
            for block, fields in settings.items()
        }
        if SECRET in settings.get("security", {}):
            shown["security"][f"{SECRET}_set"] = True
        return msgspec.convert(shown, cls)


class EnvironmentConfigurationView(Struct):
    inherited: ConfigurationView
    override: OverrideView
    effective: ConfigurationView


class SecurityChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    waf_engine_mode: Annotated[WafMode | None, Meta(examples=["on"])] | UnsetType = UNSET
    ip_reputation_enabled: bool | UnsetType | None = UNSET
    login_lockout_enabled: bool | UnsetType | None = UNSET
    allowed_ips: Allowed | UnsetType | None = UNSET
    hsts_seconds: Hsts | UnsetType | None = UNSET
    waf_partner_client_id: PartnerText | UnsetType | None = UNSET
    waf_partner_secret_key: (
        Annotated[PartnerText | None, Meta(description="Written, never read back.", examples=[None])]
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


class ConfigurationChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is not named stays; null goes back to what it would be otherwise."""

    security: SecurityChange | UnsetType = UNSET
    performance: PerformanceChange | UnsetType = UNSET
    observability: ObservabilityChange | UnsetType = UNSET

    @property
    def settings(self) -> Settings:
        found: Settings = msgspec.to_builtins(self)
        return found


def _shown(blocks: dict[str, Any]) -> dict[str, Any]:
    security = dict(blocks["security"])
    is_set = security.pop(SECRET) is not None
    return {**blocks, "security": {**security, f"{SECRET}_set": is_set}}
