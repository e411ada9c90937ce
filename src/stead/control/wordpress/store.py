"""Queries of WordPress sites."""

from stead.control.engines.postgres import Tx
from stead.control.wordpress.rules import WordPressLimits, WordPressSite


async def insert(tx: Tx, site: str, *, title: str, user: str, email: str, password: bytes) -> None:
    await tx.run(
        "insert into wordpress_sites (site_id, title, admin_user, admin_email, admin_password)"
        " values ($1, $2, $3, $4, $5)",
        *(site, title, user, email, password),
    )


async def find(tx: Tx, site: str) -> WordPressSite | None:
    """Of the plan of its owner: the team, or the account."""
    return await tx.one(
        WordPressSite,
        "select w.title, w.admin_user, w.admin_email, w.admin_password, s.php_version,"
        " s.profile = 'git_managed',"
        " coalesce(t.plan, a.plan) as plan, coalesce(s.team_id, s.account_id) as owner"
        " from wordpress_sites w join sites s on s.id = w.site_id"
        " left join teams t on t.id = s.team_id left join accounts a on a.id = s.account_id"
        " where w.site_id = $1",
        site,
    )


async def find_limits(tx: Tx, plan: str) -> WordPressLimits | None:
    return await tx.one(
        WordPressLimits,
        "select memory_mb, cpus, processes, disk_mb from wordpress_plans where plan = $1",
        plan,
    )


async def remove_password(tx: Tx, site: str) -> None:
    await tx.run("update wordpress_sites set admin_password = null where site_id = $1", site)


async def get_email(tx: Tx, account: str) -> str:
    return str(await tx.value("select email from accounts where id = $1", account))
