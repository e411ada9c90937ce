"""The names of environment variables of builds: which ones a customer may use."""

import re

PLATFORM_PREFIXES = ("STEAD_", "npm_config_", "NPM_CONFIG_")
PLATFORM_NAMES = frozenset(
    {
        *("CI", "HOME", "LANG", "PATH", "TZ", "USER"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"),
    }
)
"""What the platform sets in every build."""
SHORTEST_SECRET = 4
"""Shorter values are not masked: they occur in ordinary text everywhere."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def is_reserved(name: str) -> bool:
    """Whether the platform sets variables with this name itself."""
    return name in PLATFORM_NAMES or name.startswith(PLATFORM_PREFIXES)
