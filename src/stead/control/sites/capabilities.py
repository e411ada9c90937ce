"""The capabilities of each runtime. Every runtime reports the same keys."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.shared.runtimes import Runtime


class CapabilityView(Struct):
    supported: Annotated[bool, Meta(examples=[True])]
    actions: Annotated[list[str], Meta(examples=[["list", "install"]])] | UnsetType = UNSET
    kind: Annotated[str, Meta(examples=["cms-cron"])] | UnsetType = UNSET
    engine: Annotated[str, Meta(examples=["mariadb"])] | UnsetType = UNSET
    shells: Annotated[list[str], Meta(examples=[["cms-cli"]])] | UnsetType = UNSET
    selectors: Annotated[list[str], Meta(examples=[["files"]])] | UnsetType = UNSET


_NO, _YES = CapabilityView(supported=False), CapabilityView(supported=True)
_NOTHING = dict.fromkeys(
    (
        *("components.plugins", "components.themes", "components.users", "components.content"),
        *("cron", "database", "exec", "magic_link", "clone_content", "build", "functions"),
    ),
    _NO,
)

CAPABILITIES: dict[Runtime, dict[str, CapabilityView]] = {
    "cms": {
        **_NOTHING,
        "components.plugins": CapabilityView(
            supported=True, actions=["list", "install", "activate", "update", "delete"]
        ),
        "components.themes": CapabilityView(supported=True, actions=["list", "activate", "update", "delete"]),
        "components.users": _YES,
        "components.content": _YES,
        "cron": CapabilityView(supported=True, kind="cms-cron"),
        "database": CapabilityView(supported=True, engine="mariadb"),
        "exec": CapabilityView(supported=True, shells=["cms-cli", "bash"]),
        "magic_link": _YES,
        "clone_content": CapabilityView(supported=True, selectors=["db", "files"]),
        "build": _YES,
    },
    "static": {
        **_NOTHING,
        "clone_content": CapabilityView(supported=True, selectors=["files"]),
        "build": _YES,
    },
    "wasm": {
        **_NOTHING,
        "build": _YES,
        "functions": CapabilityView(supported=True, actions=["deploy", "rollback", "routes", "secrets"]),
    },
}
