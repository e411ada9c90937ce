"""The Python client of the Stead API.

    from stead_sdk import Stead

    client = Stead()  # reads STEAD_API_KEY and STEAD_BASE_URL
    site = client.sites.create(domain="example.com", profile="static").result()

`AsyncStead` has the same methods for asyncio. Nothing is imported before it is used.
"""

from stead_sdk._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stead_sdk import error_codes, errors, params, types, webhooks
    from stead_sdk._async.client import AsyncStead
    from stead_sdk._omit import OMIT, Omit
    from stead_sdk._sync.client import Stead

__all__ = [
    "OMIT",
    "AsyncStead",
    "Omit",
    "Stead",
    "__version__",
    "error_codes",
    "errors",
    "params",
    "types",
    "webhooks",
]

_NAMES = {
    "AsyncStead": "stead_sdk._async.client",
    "OMIT": "stead_sdk._omit",
    "Omit": "stead_sdk._omit",
    "Stead": "stead_sdk._sync.client",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name in __all__:
        return import_module(f"stead_sdk.{name}")
    raise AttributeError(f"module 'stead_sdk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
