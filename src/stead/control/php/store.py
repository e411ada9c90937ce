"""Queries about versions of PHP."""

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.php.rules import SwitchedEnvironment
from stead.protocol.work.builds import PhpRequirement


def _read(id_: str, type_: str, branch: str | None, subdomain: str, php: object) -> SwitchedEnvironment:
    requirements = msgspec.convert(php or [], tuple[PhpRequirement, ...])
    return SwitchedEnvironment(id_, type_, branch, subdomain, requirements)


async def list_switched(tx: Tx, site: str) -> list[SwitchedEnvironment]:
    """The environments that a switch changes, production first. Only releases have requirements."""
    return await tx.all(
        _read,
        "select e.id, e.type, e.branch, e.subdomain, a.php from environments e"
        " left join deployments d on d.env_id = e.id and d.status = 'live'"
        " left join artifacts a on a.id = d.artifact_id"
        " where e.site_id = $1 and e.node_id is not null and e.status <> 'deleted'"
        " order by e.type <> 'production', e.id",
        site,
    )
