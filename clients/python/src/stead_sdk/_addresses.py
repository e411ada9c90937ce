"""Where requests go: origins, proxies and certificates, from arguments and the usual variables."""

import os
from typing import TYPE_CHECKING, NamedTuple

from stead_sdk._urls import split_url

if TYPE_CHECKING:
    import ssl


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """For the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    @classmethod
    def of(cls, url: str) -> tuple["Origin", str]:
        """The origin of a URL, and the rest of it."""
        scheme, _, host, port, target = split_url(url)
        return cls(scheme, host, port), target


class Proxy(NamedTuple):
    origin: Origin
    authorization: str | None


def proxy_for(origin: Origin) -> Proxy | None:
    """From `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in lower or upper case. `HTTP_PROXY` in upper case is
    ignored in a CGI program, where a visitor can set it."""
    url = _variable(f"{origin.scheme}_proxy") or _variable("all_proxy")
    if not url or _is_excepted(origin.host):
        return None
    scheme, user, host, port, _ = split_url(url if "://" in url else f"http://{url}")
    found = Origin(scheme, host, port)
    if not user:
        return Proxy(found, None)
    import base64
    from urllib.parse import unquote

    return Proxy(found, f"Basic {base64.b64encode(unquote(user).encode()).decode()}")


def tls_context(ca_file: str | None) -> "ssl.SSLContext":
    """Of the certificate authorities in `ca_file`, `SSL_CERT_FILE`, or those of the system."""
    import ssl

    context = ssl.create_default_context(cafile=ca_file or os.environ.get("SSL_CERT_FILE") or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _variable(name: str) -> str:
    if name == "http_proxy" and "REQUEST_METHOD" in os.environ:
        return os.environ.get(name, "")
    return os.environ.get(name) or os.environ.get(name.upper(), "")


def _is_excepted(host: str) -> bool:
    for each in _variable("no_proxy").split(","):
        name = _host_of(each.strip())
        if name and (name == "*" or host == name or host.endswith(f".{name}")):
            return True
    return False


def _host_of(entry: str) -> str:
    """Without a port. An IPv6 address has several colons, and brackets if a port follows."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry if entry.count(":") > 1 else entry.lstrip(".").partition(":")[0]
