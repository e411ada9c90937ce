"""A worker's certificates in a process of its own, to be killed: python -m tests.control.certificates.hand"""

import asyncio
import base64
import sys
from pathlib import Path

from stead.control.certificates.certifier import AuthorityAt, Certifier
from stead.control.certificates.preflight import Preflight
from stead.control.engines.postgres import Database
from stead.control.sealing import Sealer
from stead.shared.clock import wall_clock
from tests.control.certificates.door import FileDoor


async def _unchanged(_: str) -> None:
    return


async def work(database_url: str, sealing_key: str, directory: str, trust: str, data: str) -> None:
    database = Database(database_url, clock=wall_clock)
    certifier = Certifier(
        database,
        Sealer(base64.b64decode(sealing_key)),
        AuthorityAt(directory, trust=trust),
        preflight=Preflight(""),
        door=FileDoor(Path(data)),
        refreshed=_unchanged,
    )
    await certifier.work()
    await database.close()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
