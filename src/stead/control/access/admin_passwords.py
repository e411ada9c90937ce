"""A new password of the administrator of a WordPress site."""

import base64
import hashlib
import secrets

from stead.control.access.jobs import RESET_ADMIN_PASSWORD, PasswordWork
from stead.control.access.rules import SCOPE
from stead.control.access.schema import NewPasswordView
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentBusy
from stead.control.jobs import service as jobs
from stead.control.jobs.presigning import password_hash_context
from stead.control.outbox.audit import AuditEntry
from stead.control.sealing import Sealer
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.control.wordpress import service as wordpress

PASSWORD_BYTES = 24
_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ROUNDS_LOG2 = 13


async def reset(tx: Tx, sealer: Sealer, site: VisibleSite, entry: AuditEntry) -> NewPasswordView:
    """Only a hash leaves this process; the password itself is in the response and nowhere else."""
    require_changeable(site.status)
    env = await environments.get_production(tx, site.id)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    user = await wordpress.get_admin_user(tx, site.id)
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    sealed = sealer.seal(hash_for_wordpress(password).encode(), context=password_hash_context(site.id))
    work = PasswordWork(env.id, user, base64.b64encode(sealed).decode())
    subject = jobs.Subject(site.id, site.owner, env_id=env.id, id=site.id)
    job = await jobs.enqueue(tx, RESET_ADMIN_PASSWORD, work, subject, scope=SCOPE)
    entry.note(environment=env.id, user=user, job=job.id)
    return NewPasswordView(user, password, job.id)


def hash_for_wordpress(password: str, salt: str = "", *, rounds_log2: int = _ROUNDS_LOG2) -> str:
    """The portable hash of phpass. Every version of WordPress reads it, and replaces it by a stronger one at
    the next sign-in. The password is random and long, so the strength of the hash does not matter."""
    salt = salt or "".join(secrets.choice(_ALPHABET) for _ in range(8))
    digest = hashlib.md5((salt + password).encode(), usedforsecurity=False).digest()
    for _ in range(1 << rounds_log2):
        digest = hashlib.md5(digest + password.encode(), usedforsecurity=False).digest()
    return f"$P${_ALPHABET[rounds_log2]}{salt}{_encode(digest)}"


def _encode(data: bytes) -> str:
    """Base64 with the alphabet of phpass, the lowest bits first."""
    text = ""
    for start in range(0, len(data), 3):
        part = data[start : start + 3]
        value = int.from_bytes(part, "little")
        text += "".join(_ALPHABET[value >> 6 * index & 63] for index in range(len(part) + 1))
    return text
