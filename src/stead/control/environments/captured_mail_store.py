"""Queries of captured mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest


@dataclass(frozen=True, slots=True)
class MailRow:
    id: str
    captured_at: datetime
    content: bytes


async def list_unknown(tx: Tx, node: str, mails: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of copies on this node that are not recorded yet, as environment and key."""
    rows: list[tuple[str, str]] = await tx.all(
        lambda env, key: (env, key),
        "select m.env, m.key from unnest($1::text[], $2::text[]) as m (env, key)"
        " join environments e on e.id = m.env and e.node_id = $3 and e.type <> 'production'"
        " where not exists (select from captured_mails c where c.env_id = m.env and c.node_key = m.key)",
        [env for env, _ in mails],
        [key for _, key in mails],
        node,
    )
    return set(rows)


async def insert(tx: Tx, mail: str, env: str, key: str, captured_at: datetime, content: bytes) -> None:
    await tx.run(
        "insert into captured_mails (id, env_id, node_key, captured_at, content)"
        " values ($1, $2, $3, $4, $5) on conflict do nothing",
        *(mail, env, key, captured_at, content),
    )


async def page(tx: Tx, env: str, request: PageRequest) -> Page[MailRow]:
    return await request.fetch(
        tx,
        MailRow,
        "select id, captured_at, content from captured_mails where env_id = $1 and id < $2"
        " order by id desc limit $3",
        env,
    )


async def remove_surplus(tx: Tx, env: str, kept: int) -> None:
    """Keep the newest ones."""
    await tx.run(
        "delete from captured_mails where env_id = $1 and id in"
        " (select id from captured_mails where env_id = $1 order by id desc offset $2)",
        env,
        kept,
    )


async def remove_older(tx: Tx, moment: datetime, limit: int) -> int:
    removed = await tx.all(
        str,
        "delete from captured_mails where id in"
        " (select id from captured_mails where captured_at < $1 order by captured_at limit $2) returning id",
        moment,
        limit,
    )
    return len(removed)
