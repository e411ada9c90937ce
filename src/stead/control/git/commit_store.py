"""Rows of the commits that hooks have reported, by branch."""

from collections.abc import Sequence

from stead.control.engines.postgres import Tx

MAX_COMMITS = 2000
"""How many commits of a site are remembered."""


async def find_head(tx: Tx, site: str, branch: str) -> str | None:
    """The commit that the last hook reported as the head of the branch; None if the branch was deleted."""
    head: str | None = await tx.value(
        "select commit from branch_commits where site_id = $1 and branch = $2 and is_head", site, branch
    )
    return head


async def find_known(tx: Tx, site: str, branch: str, commits: Sequence[str]) -> set[str]:
    known = await tx.all(
        str,
        "select commit from branch_commits where site_id = $1 and branch = $2 and commit = any($3)",
        site,
        branch,
        list(commits),
    )
    return set(known)


async def record(tx: Tx, site: str, branch: str, head: str | None, earlier: Sequence[str]) -> None:
    """Record the head of a branch, None for a deleted one, and commits that are older than the head."""
    await tx.run(
        "update branch_commits set is_head = false where site_id = $1 and branch = $2 and is_head",
        site,
        branch,
    )
    await tx.run(
        "insert into branch_commits (site_id, branch, commit, is_head, heard_at)"
        " select $1, $2, c, c = $4, $5 from unnest($3::text[]) c"
        " on conflict (site_id, branch, commit) do update set is_head = excluded.is_head, heard_at = $5",
        site,
        branch,
        list({*earlier, head} - {None}),
        head or "",
        tx.now,
    )
    await tx.run(
        "delete from branch_commits where site_id = $1 and not is_head and heard_at < (select heard_at"
        " from branch_commits where site_id = $1 order by heard_at desc offset $2 limit 1)",
        site,
        MAX_COMMITS,
    )
