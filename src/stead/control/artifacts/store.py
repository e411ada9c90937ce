"""Queries of artifacts, their blobs and the signing keys."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from stead.control.artifacts.rules import KEPT_FOR, NEWEST_KEPT, Artifact, NewArtifact
from stead.control.artifacts.schema import ArtifactView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.shared.ids import ArtifactId, new_id

_COLUMNS = (
    "id, site_id, digest, serve_model, manifest, config, envelope, key_id, layer_digest, layer_size, ref,"
    " commit, created_at"
)
_VIEW = "id, digest, 'dsse:' || key_id, serve_model, ref, commit, build_id, layer_size, created_at"

_UNUSED = f"""
  select a.id, a.built_at from artifacts a join sites s on s.id = a.site_id
  where not exists (
    select from deployments d where d.artifact_id = a.id and d.status in ('pending', 'deploying', 'live'))
  and not exists (
    select from environments e cross join lateral (
      select d.artifact_id from deployments d where d.env_id = e.id order by d.id desc limit {NEWEST_KEPT}
    ) recent where e.site_id = a.site_id and recent.artifact_id = a.id)
  and not exists (select from function_versions v where v.artifact_id = a.id)
  and not exists (select from snapshots n where n.artifact_id = a.id and n.status <> 'failed')
  and (select count(*) from artifacts newer where newer.site_id = a.site_id
    and (newer.built_at, newer.id) > (a.built_at, a.id)) >= {NEWEST_KEPT}
"""  # noqa: S608
_UNRECOVERABLE = """
  select a.id, a.built_at from artifacts a join sites s on s.id = a.site_id
  where s.status = 'deleted' and s.recoverable_until <= $1
"""
_UNREFERENCED = """
  b.held_until <= $1 and (b.removing_until is null or b.removing_until <= $1)
  and not exists (select from artifact_blobs u where u.digest = b.digest)
"""


async def find(tx: Tx, site: str, artifact: str) -> Artifact | None:
    """The artifact cannot be removed before the transaction ends."""
    return await tx.one(
        Artifact,
        f"select {_COLUMNS} from artifacts where site_id = $1 and id = $2 for key share",  # noqa: S608
        site,
        artifact,
    )


async def get(tx: Tx, artifact: str) -> Artifact | None:
    return await tx.one(Artifact, f"select {_COLUMNS} from artifacts where id = $1", artifact)  # noqa: S608


async def page(tx: Tx, site: str, request: PageRequest) -> Page[ArtifactView]:
    return await request.fetch(
        tx,
        ArtifactView,
        f"select {_VIEW} from artifacts where site_id = $1 and id < $2 order by id desc limit $3",  # noqa: S608
        site,
    )


async def list_newest(tx: Tx, *, limit: int) -> list[Artifact]:
    return await tx.all(Artifact, f"select {_COLUMNS} from artifacts order by id desc limit $1", limit)  # noqa: S608


async def insert(tx: Tx, new: NewArtifact) -> ArtifactId:
    """A second build with the same content updates the signature of the existing artifact."""
    id_: str = await tx.value(
        "insert into artifacts (id, site_id, digest, serve_model, manifest, config, envelope, key_id,"
        " layer_digest, layer_size, ref, commit, build_id, created_at, built_at, php)"
        " values ($1, $2, $3, $14, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $15)"
        " on conflict (site_id, digest) do update"
        " set envelope = $6, key_id = $7, build_id = $12, built_at = $13, php = $15 returning id",
        *(new_id("art"), new.site_id, new.digest, new.manifest, new.config, new.envelope, new.key_id),
        *(new.layer_digest, new.layer_size, new.ref, new.commit, new.build_id, tx.now, new.serve_model),
        msgspec.to_builtins(new.php),
    )
    await tx.run(
        "insert into artifact_blobs (artifact_id, digest, unpacked_size)"
        " select $1, digest, case when digest = $3 then $4::bigint else 0 end"
        " from unnest($2::text[]) as digest"
        " on conflict do nothing",
        *(id_, list(new.blobs), new.layer_digest, new.layer_unpacked),
    )
    return ArtifactId(id_)


async def hold_blob(tx: Tx, digest: str, size: int, *, until: datetime) -> bool:
    """Returns False while another worker removes the blob from the object store."""
    held = await tx.run(
        "insert into blobs (digest, size, held_until) values ($1, $2, $3)"
        " on conflict (digest) do update set held_until = greatest(blobs.held_until, $3),"
        " removing_until = null where blobs.removing_until is null or blobs.removing_until <= $4",
        *(digest, size, until, tx.now),
    )
    return held == 1


async def lock_stored_blobs(tx: Tx, digests: Sequence[str]) -> int:
    """Returns how many of the blobs are stored. They cannot be removed before the transaction ends."""
    found = await tx.all(
        str,
        "select digest from blobs where digest = any($1) and removing_until is null"
        " order by digest for key share",
        list(digests),
    )
    return len(found)


async def find_new_blobs(tx: Tx, owner: str | None, digests: Sequence[str]) -> set[str]:
    """The blobs that no artifact of this owner refers to yet."""
    known = await tx.all(
        str,
        "select distinct u.digest from artifact_blobs u join artifacts a on a.id = u.artifact_id"
        " join sites s on s.id = a.site_id"
        " where u.digest = any($2) and coalesce(s.team_id, s.account_id) = $1",
        owner,
        list(digests),
    )
    return set(digests) - set(known)


async def list_blobs(tx: Tx, *, after: str, limit: int) -> list[str]:
    """Blobs that nobody holds, by digest."""
    return await tx.all(
        str,
        "select digest from blobs where held_until <= $1 and digest > $2 order by digest limit $3",
        tx.now,
        after,
        limit,
    )


async def claim_unreferenced_blobs(tx: Tx, blobs: Sequence[str], *, until: datetime) -> list[str]:
    """Claim those of the blobs that no artifact refers to for removal, also those whose worker died while it
    removed them.

    A blob that is locked is skipped: an artifact of it is being recorded. Those that are not are locked, and
    then the conditions are checked again.
    """
    found = await tx.all(
        str,
        f"select b.digest from blobs b where b.digest = any($2) and {_UNREFERENCED}"  # noqa: S608
        " order by b.digest for update skip locked",
        tx.now,
        list(blobs),
    )
    return await tx.all(
        str,
        f"update blobs b set removing_until = $2 where b.digest = any($3) and {_UNREFERENCED}"  # noqa: S608
        " returning b.digest",
        tx.now,
        until,
        found,
    )


async def delete_removed_blobs(tx: Tx, digests: Sequence[str], *, until: datetime) -> int:
    """Delete the rows of blobs whose objects are removed, unless the claim has passed to another worker."""
    return await tx.run(
        "delete from blobs where digest = any($1) and removing_until = $2", list(digests), until
    )


async def list_ids(tx: Tx, *, after: str, limit: int) -> list[str]:
    return await tx.all(str, "select id from artifacts where id > $1 order by id limit $2", after, limit)


async def select_unused(tx: Tx, artifacts: Sequence[str]) -> list[str]:
    """Those of the artifacts that are unused and old, or belong to a site that cannot be recovered."""
    return await tx.all(
        lambda id_, _: str(id_),
        f"({_UNUSED} and a.built_at < $2 and a.id = any($3))"
        f" union ({_UNRECOVERABLE} and a.id = any($3)) order by 2, 1",
        tx.now,
        tx.now - KEPT_FOR,
        list(artifacts),
    )


async def list_unused(tx: Tx, owner: str | None, *, limit: int) -> list[str]:
    """Unused artifacts of an owner, the oldest first, also those that are not old enough yet."""
    return await tx.all(
        lambda id_, _: str(id_),
        f"{_UNUSED} and coalesce(s.team_id, s.account_id) = $1 order by 2, 1 limit $2",
        owner,
        limit,
    )


async def delete_if_unused(tx: Tx, artifact: str) -> bool:
    """The lock waits for transactions that are about to deploy the artifact; then the conditions are checked
    again."""
    if await tx.value("select id from artifacts where id = $1 for update", artifact) is None:
        return False
    sql = (
        f"delete from artifacts where id = $2 and (id in (select id from ({_UNUSED}) u)"  # noqa: S608
        f" or id in (select id from ({_UNRECOVERABLE}) g))"
    )
    return await tx.run(sql, tx.now, artifact) == 1


async def lock_keys(tx: Tx) -> None:
    """No other transaction can change the signing keys before this one ends."""
    await tx.value("select pg_advisory_xact_lock(hashtext('artifacts.signing_keys'))")


async def find_current_key(tx: Tx) -> tuple[str, bytes] | None:
    return await tx.one(lambda *row: row, "select id, sealed from signing_keys where retired_at is null")


async def insert_key(tx: Tx, key: str, *, public: bytes, sealed: bytes) -> None:
    await tx.run(
        "insert into signing_keys (id, public, sealed, created_at) values ($1, $2, $3, $4)",
        *(key, public, sealed, tx.now),
    )


async def retire_key(tx: Tx) -> None:
    await tx.run("update signing_keys set retired_at = $1 where retired_at is null", tx.now)


async def delete_key(tx: Tx, key: str) -> bool:
    return await tx.run("delete from signing_keys where id = $1", key) == 1


async def list_public_keys(tx: Tx) -> list[bytes]:
    return await tx.all(bytes, "select public from signing_keys order by created_at desc, id")


async def find_public_key(tx: Tx, key: str) -> bytes | None:
    raw: bytes | None = await tx.value("select public from signing_keys where id = $1", key)
    return raw
