"""A certifier in its own process, which tests kill: python -m tests.control.certificates.certifier_process"""

import asyncio
import base64
import sys
from pathlib import Path

from stead.control.certificates.certifier import AuthoritySettings, Certifier
from stead.control.certificates.preflight import Preflight
from stead.control.engines.postgres import Database
from stead.control.sealing import Sealer
from stead.shared.clock import wall_clock
from tests.control.certificates.file_publisher import FilePublisher


async def _skip_refresh(_: str) -> None:
    return


async def run(database_url: str, sealing_key: str, directory: str, trust: str, data: str) -> None:
    database = Database(database_url, clock=wall_clock)
    certifier = Certifier(
        database,
        Sealer(base64.b64decode(sealing_key)),
        AuthoritySettings(directory, trust=trust),
        preflight=Preflight(""),
        publisher=FilePublisher(Path(data)),
        refresh_site=_skip_refresh,
    )
    await certifier.process_due()
    await database.close()


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
