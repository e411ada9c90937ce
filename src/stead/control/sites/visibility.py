"""Which sites a caller can see. Sites, environments and jobs are looked up through these conditions.

There are two forms. `visible_rows` is for a query that finds one resource by its id. A list would read rows
of other owners with it, so lists begin with `OWNERS` and read the sites of each from an index.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.shared.roles import SITE_VIEWERS, Role

T = TypeVar("T")

OWNERS = """
  owners as (
    select $1::text as id
    union all
    select m.team_id from team_members m where m.account_id = $1
    and (m.expires_at is null or m.expires_at > $2) and m.role = any($3)
  )
"""
"""The account and the teams whose sites the caller can see. Uses the parameters $1 to $3."""


def sites_of_owner(*, environment: str = "null::text") -> str:
    """The condition of the sites `s` of the owner `o` that the credential can see.

    Uses the parameters $4 to $6. `environment` is as in `visible_rows`.
    """
    return f"coalesce(s.team_id, s.account_id) = o.id and {_within_credential(environment)}"


def _within_credential(environment: str) -> str:
    return f"""
  s.mode = any($4)
  and ($5::text is null or $6 = case $5 when 'environment' then {environment}
    when 'site' then s.id when 'project' then s.project_id when 'team' then s.team_id end)
"""


def visible_rows(tables: str, *, environment: str = "null::text") -> str:
    """The `from` and `where` of a query that finds only what the caller can see.

    A site is visible to its own account, and to members of its team whose role includes reading sites; within
    the modes and the pin of the credential. `tables` joins the sites as `s`. `environment` is the column that
    a pin to an environment is compared with; without it such a pin sees nothing.

    Uses the parameters $1 to $6, see `viewer`, and joins the caller's membership as `m`.
    """
    return f"""
  from {tables} left join team_members m
    on m.team_id = s.team_id and m.account_id = $1
    and (m.expires_at is null or m.expires_at > $2) and m.role = any($3)
  where (s.account_id = $1 or m.role is not null) and {_within_credential(environment)}
"""


def viewer(tx: Tx, caller: Principal) -> tuple[object, ...]:
    """The parameters $1 to $6 of these conditions."""
    return caller.account_id, tx.now, SITE_VIEWERS, caller.modes, caller.pin_type, caller.pin_id


def with_role(make: Callable[..., T]) -> Callable[..., T]:
    """Reads a row whose last column is `m.role`.

    The caller is the owner of a site that was found without a membership: it belongs to the account itself.
    """

    def read(*row: Any) -> T:
        return make(*row[:-1], Role(row[-1] or Role.OWNER))

    return read
