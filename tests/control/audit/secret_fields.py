"""Which fields of requests and responses are secret, and how to find everything that Redis holds."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stead.control.engines.redis import Redis
from stead.control.http.operations import BodyInput, Operation
from tests.contract.fields import text_fields, values_at

SENT = {
    *("password", "new_password", "current_password", "token"),
    *("security.waf_partner_secret_key", "security.preview_password"),
    *("admin.password", "value", "forge.token"),
}
"""Text in request bodies that must not be found anywhere."""
RETURNED = {"secret", "token", "hook_secret", "metrics_token", "password"}
"""Text in responses that is shown once."""
SECRET_URLS = {"uploads.create": "url", "sites.magic_link": "url"}
"""Whoever knows the signature or the fragment may use the URL."""
RECORDED = {
    "sites.magic_link": {"user"},
    "cms_users.create": {"login", "role"},
    "cms_users.create_in_environment": {"login", "role"},
    "cms_users.update": {"role"},
    "cms_users.update_in_environment": {"role"},
    "dns_records.create": {"name"},
}
"""What the audit trail records of a request on purpose: who was let in, with which role; which name."""
NOT_SECRET = {
    *("deploy_key", "keys.*.public_key"),
    *("signature", "detections.*.signature"),
    *("meta.*.key", "operations.*.new.meta.*.key", "operations.*.change.meta.*.key"),
}
"""The public half of a key; the names of patterns of malware, and of what plugins store with a post."""
PUBLISHED = {"dns_records.create": {"value"}, "dns_records.update": {"value"}}
"""What has the name of a secret in another operation."""

_LOOKS_SECRET = re.compile(r"secret|token|password|passphrase|credential|(^|_)key$|private|signature$")


def unclassified(operation: Operation) -> set[str]:
    """Fields whose name says that they hold a secret, and that are not listed here."""
    wanted = operation.input_of(BodyInput)
    sent = _suspicious(wanted.shape) - SENT - NOT_SECRET if wanted else set()
    returned = _suspicious(operation.shape) - RETURNED - NOT_SECRET if operation.shape else set()
    return sent | returned


def _suspicious(shape: Any) -> set[str]:
    return {path for path in text_fields(shape) if _LOOKS_SECRET.search(path.rpartition(".")[2])}


def returns_secret(operation: Operation) -> bool:
    if operation.method == "GET" or operation.shape is None:
        return False
    return operation.id in SECRET_URLS or bool(text_fields(operation.shape) & RETURNED)


def sent_secrets(operation: Operation, body: Any) -> set[str]:
    paths = SENT - PUBLISHED.get(operation.id, set())
    return {text for path in paths for text in values_at(body, path)}


def recorded_texts(operation: Operation, body: Any) -> set[str]:
    return {text for path in RECORDED.get(operation.id, set()) for text in values_at(body, path)}


def returned_secrets(operation: Operation, data: Any) -> set[str]:
    if not isinstance(data, dict):
        return set()
    found = {text for path in RETURNED for text in values_at(data, path)}
    if operation.id in SECRET_URLS and SECRET_URLS[operation.id] in data:
        url = urlsplit(data[SECRET_URLS[operation.id]])
        found |= {url.fragment} if url.fragment else set(parse_qs(url.query)["X-Amz-Signature"])
    return found


_READ = {
    b"string": ("GET",),
    b"hash": ("HGETALL",),
    b"list": ("LRANGE", 0, -1),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"stream": ("XRANGE", "-", "+"),
}


async def everything_in_redis(redis: Redis) -> str:
    """The name and the content of every key."""
    found: list[Any] = []
    cursor: Any = b"0"
    while True:
        cursor, names = await redis.execute("SCAN", cursor, "COUNT", 1000)
        for name in names:
            kind = await redis.execute("TYPE", name)
            command, *rest = _READ.get(kind if isinstance(kind, bytes) else str(kind).encode(), ("",))
            found += [name, await redis.execute(command, name, *rest) if command else None]
        if cursor in (b"0", "0", 0):
            return repr(found)
