"""The use cases of secrets, each inside the caller's transaction."""

import base64
import hashlib
from collections.abc import Sequence

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import PRODUCTION, VisibleEnvironment
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.presigning import BuildVariables, secret_context
from stead.control.sealing import Sealer
from stead.control.secrets import store
from stead.control.secrets.rules import (
    LINE_COST,
    MAX_SECRETS,
    MAX_TOTAL_BYTES,
    SecretNotFound,
    SecretsExhausted,
    measure,
    require_name,
    require_value,
    secret_id,
)
from stead.control.secrets.schema import NewSecret, SecretView
from stead.control.secrets.store import ListedSecret
from stead.shared.errors import FieldInvalid


async def browse(tx: Tx, env: VisibleEnvironment, page: PageRequest, sealer: Sealer) -> Page[SecretView]:
    return await store.page(tx, env, page, lambda row: _view(row, sealer))


async def save(tx: Tx, env: VisibleEnvironment, name: str, wanted: NewSecret, sealer: Sealer) -> SecretView:
    require_name(name)
    require_value(wanted.value, is_plain=wanted.plain)
    if wanted.previews and env.type != PRODUCTION:
        raise FieldInvalid(param="previews", reason="Only production can share a secret with previews.")
    await store.lock(tx, env)
    others = await store.total_without(tx, env, name)
    size = measure(name, wanted.value, is_plain=wanted.plain)
    if others.secrets >= MAX_SECRETS or others.size + size > MAX_TOTAL_BYTES:
        raise SecretsExhausted(count=MAX_SECRETS, size=MAX_TOTAL_BYTES, line=LINE_COST)
    id_ = secret_id(env.id, name)
    await store.save(
        tx,
        env,
        id_,
        name,
        sealed=sealer.seal(wanted.value.encode(), context=secret_context(id_)),
        size=size,
        is_plain=wanted.plain,
        previews=wanted.previews,
    )
    return SecretView(name, wanted.plain, wanted.previews, wanted.value if wanted.plain else None, tx.now)


async def delete(tx: Tx, env: VisibleEnvironment, name: str) -> None:
    if not await store.delete(tx, env, name):
        raise SecretNotFound


async def get_for_build(tx: Tx, env: str) -> BuildVariables:
    """Sealed; `jobs/presigning.py` opens them when the command is sent."""
    found = await store.list_for_build(tx, env)
    sealed = [(each.is_plain, (each.id, base64.b64encode(each.sealed).decode())) for each in found]
    return BuildVariables(
        secret=tuple(pair for is_plain, pair in sealed if not is_plain),
        plain=tuple(pair for is_plain, pair in sealed if is_plain),
    )


async def get_fingerprint(tx: Tx, env: str) -> str:
    """Another text when any value that builds get has changed. It says nothing about the values."""
    found = await store.list_versions(tx, env)
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


async def list_named(tx: Tx, env: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Secrets and plain variables of an environment, sealed like those of a build. Names that it does not
    have are left out."""
    found = await store.list_named(tx, env, names)
    return tuple((each.id, base64.b64encode(each.sealed).decode()) for each in found)


def _view(row: ListedSecret, sealer: Sealer) -> SecretView:
    value = sealer.open(row.sealed, context=secret_context(row.id)).decode() if row.is_plain else None
    return SecretView(row.name, row.is_plain, row.previews, value, row.updated_at)
