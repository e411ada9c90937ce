"""The JSON shapes of device authorizations."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.keys.schema import KeyIdText, Scopes, SecretText
from stead.shared.sensitive import SENSITIVE

UserCode = Annotated[
    str, Meta(description="What the device shows, and people compare.", examples=["WDJB-MJHT"])
]
MachineName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@()-]{0,99}$(?!\n)",
        description="Shown to the person who approves; the key has this name.",
        examples=["ada on laptop"],
        extra={
            "noun": "name of a machine",
            "expected": "It has up to 100 letters, digits, spaces, dots, hyphens, underscores, parentheses"
            " and @. The first one is a letter or a digit.",
        },
    ),
]
DeviceCode = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        description="The secret of the device. Nobody else may know it.",
        examples=["GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS-Q"],
        extra_json_schema=SENSITIVE,
    ),
]


class NewDeviceAuthorization(Struct, forbid_unknown_fields=True):
    machine_name: MachineName
    scopes: Annotated[
        Scopes | None,
        Meta(description="Of the key. By default everything except isolated scopes.", examples=[["*"]]),
    ] = None


class StartedDeviceView(Struct):
    device_code: DeviceCode
    user_code: UserCode
    verification_uri: Annotated[
        str, Meta(description="Where people approve.", examples=["https://api.stead.example/device"])
    ]
    verification_uri_complete: Annotated[
        str,
        Meta(
            description="The same page, with the code filled in.",
            examples=["https://api.stead.example/device?code=WDJB-MJHT"],
        ),
    ]
    expires_in: Annotated[int, Meta(description="In seconds.", examples=[600])]
    interval: Annotated[int, Meta(description="Seconds between two requests for the key.", examples=[5])]


class DeviceTokenRequest(Struct, forbid_unknown_fields=True):
    device_code: DeviceCode


class DeviceTokenView(Struct):
    """The key of a device whose sign-in was approved."""

    key_id: KeyIdText
    name: Annotated[str | None, Meta(examples=["ada on laptop"])]
    account_id: Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    email: Annotated[str, Meta(examples=["ada@example.com"])]
    scopes: Scopes
    expires_at: datetime
    secret: SecretText


class DeviceAuthorizationView(Struct):
    """What a person sees before they approve."""

    user_code: UserCode
    machine_name: Annotated[str, Meta(examples=["ada on laptop"])]
    network: Annotated[
        str, Meta(description="The address or network that the device asked from.", examples=["203.0.113.7"])
    ]
    scopes: Scopes
    created_at: datetime
    expires_at: datetime
