"""The few parts of URLs that the client needs. Importing `urllib.parse` takes longer than most requests."""

from collections.abc import Iterable

from stead_sdk.errors import ConfigurationError

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def percent_encode(text: str) -> str:
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode())


def query_string(values: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{percent_encode(name)}={percent_encode(value)}" for name, value in values)


def split_url(url: str) -> tuple[str, str, str, int, str]:
    """Scheme, user information, host, port and target (path and query) of an http or https URL."""
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in ("http", "https"):
        raise ConfigurationError(f"{url!r} is not an http or https URL.")
    rest = rest.partition("#")[0]
    end = min((at for at in map(rest.find, "/?") if at >= 0), default=len(rest))
    user, _, authority = rest[:end].rpartition("@")
    host, port = _split_authority(authority)
    target = rest[end:]
    if not target.startswith("/"):
        target = f"/{target}"
    # Browsers take a backslash for a slash: they would read another host.
    is_odd = "\\" in url or any(character <= " " for character in url)
    if not host or is_odd or (port and not (port.isascii() and port.isdigit())):
        raise ConfigurationError(f"{url!r} is not a URL.")
    return scheme, user, host, int(port or (443 if scheme == "https" else 80)), target


def _split_authority(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host.lower(), port
