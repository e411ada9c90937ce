"""The JSON shapes of API keys and rate limits."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.http.principal import Mode, Pin
from stead.shared.scopes import GRANTABLE
from stead.shared.sensitive import SENSITIVE

KeyIdText = Annotated[str, Meta(examples=["key_01k9zy3v7d00r3m8w5x2t6b4qa"])]
KeyName = Annotated[str, Meta(max_length=200, examples=["deploys from CI"])]
Scope = Annotated[str, Meta(extra_json_schema={"enum": list(GRANTABLE)})]
Scopes = Annotated[
    list[Scope], Meta(min_length=1, max_length=100, examples=[["sites:write", "deployments:write"]])
]
Allowlist = Annotated[
    list[str],
    Meta(
        max_length=100,
        description="IPv4 and IPv6 addresses and CIDRs that the key may be used from. Empty: any address.",
        examples=[["203.0.113.7", "2001:db8::/32"]],
    ),
]
SecretText = Annotated[
    str,
    Meta(
        description="Returned only once; stored only as a hash.",
        examples=["stead_live_00Jx4TzYq8rN2mW6vKc1Lb9Hd5Gf3Sa70AbCdE"],
        extra_json_schema=SENSITIVE,
    ),
]
Prefix = Annotated[str, Meta(examples=["stead_live"])]
Last4 = Annotated[str, Meta(examples=["bCdE"])]


class KeyView(Struct):
    id: KeyIdText
    name: KeyName | None
    prefix: Prefix
    last4: Last4
    scopes: Scopes
    resource: Annotated[
        Pin | None, Meta(description="The only resource that the key can see.", examples=[None])
    ]
    ip_allowlist: Allowlist
    expires_at: datetime
    last_used_at: Annotated[datetime | None, Meta(description="Accurate to the minute.")]
    revoked_at: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime


class NewKey(Struct, forbid_unknown_fields=True):
    scopes: Annotated[
        Scopes,
        Meta(
            description="Only scopes that the creating credential has. Isolated scopes are listed one by one."
        ),
    ]
    name: KeyName | None = None
    resource: Annotated[Pin | None, Meta(description="Pin the key to one resource.", examples=[None])] = None
    expires_in_days: Annotated[int, Meta(ge=1, le=365)] = 90
    ip_allowlist: Allowlist | None = None
    mode: Annotated[
        Mode | None,
        Meta(
            description="By default the mode of the creating credential. A test key creates only test keys.",
            examples=["live"],
        ),
    ] = None


class MintedKeyView(KeyView, kw_only=True):
    secret: SecretText


class RolledKeyView(Struct):
    id: KeyIdText
    name: KeyName | None
    secret: SecretText
    prefix: Prefix
    last4: Last4
    scopes: Scopes
    created_at: datetime


class KeyChange(Struct, forbid_unknown_fields=True):
    name: KeyName | UnsetType | None = UNSET
    scopes: Annotated[Scopes, Meta(description="Only scopes that the key already has.")] | UnsetType = UNSET


class BucketView(Struct):
    limit: Annotated[int, Meta(examples=[1000])]
    remaining: Annotated[int, Meta(examples=[998])]
    reset: Annotated[
        int, Meta(description="Unix time at which the full limit is available again.", examples=[1763164800])
    ]


class ClassBucketView(BucketView, kw_only=True, rename={"class_": "class"}):
    class_: Literal["read", "write", "create"]


class RateLimitsView(Struct):
    buckets: list[ClassBucketView]
    team_ceiling: BucketView
