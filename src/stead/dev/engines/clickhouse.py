"""ClickHouse: requests, logs, metrics and traces of sites. Here it is `chdb` behind a server of ours."""

import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from stead.dev import probes
from stead.dev.engine import Documentation, Engine
from stead.dev.errors import ProgramMissing
from stead.dev.files import write_json
from stead.dev.packages import Packages
from stead.dev.secrets import Generator, random_password
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

PACKAGE = "chdb-core"
DATABASE = "stead"
_PASSWORDS = {Program.API: "clickhouse_api_password", Program.WORKER: "clickhouse_worker_password"}


class ClickHouse(Engine):
    name: ClassVar[str] = "clickhouse"
    packages: ClassVar[Packages] = Packages(python=(PACKAGE,))
    ports: ClassVar[Ports] = Ports(("clickhouse",))
    secrets: ClassVar[Mapping[str, Generator]] = dict.fromkeys(_PASSWORDS.values(), random_password)
    documentation: ClassVar[Documentation] = Documentation(
        title="ClickHouse",
        purpose="requests, logs and metrics of sites",
        product="ClickHouse ≥ 26.2",
        reason="percentiles over millions of rows in milliseconds, in a quarter of the space of a row store",
        production="a cluster; the API has a user that can only read (decision 0045)",
        development=f"PyPI `{PACKAGE}`: the same engine as a library, behind an HTTP server of ours with"
        " passwords",
        when_down="everything but insights, which answer 503; what nodes send waits in the object store, and"
        " is inserted when it is back",
    )

    def url(self, program: Program, database: str = DATABASE) -> str:
        """The API can only read."""
        user = "worker" if program is Program.WORKER else "api"
        password = self.instance.secrets[_PASSWORDS[Program(user)]]
        return f"http://{user}:{quote(password, safe='')}@{LOOPBACK}:{self.port}/{database}"

    def control_settings(self, program: Program) -> dict[str, str]:
        return {"STEAD_CLICKHOUSE_URL": self.url(program)}

    def find_executable(self) -> Path:
        if importlib.util.find_spec("chdb") is None:
            raise ProgramMissing("chdb", self.packages)
        return Path(sys.executable)

    async def read_version(self) -> str:
        return importlib.metadata.version(PACKAGE)

    @property
    def _config_file(self) -> Path:
        return self.instance.home / "config.json"

    async def prepare(self) -> None:
        await super().prepare()
        users = {
            program.value: {
                "password": self.instance.secrets[secret],
                "readonly": program is not Program.WORKER,
            }
            for program, secret in _PASSWORDS.items()
        }
        config = {"port": self.port, "data": str(self.instance.home / "data"), "users": users}
        write_json(self._config_file, config)

    def command(self) -> list[str]:
        return [str(self.find_executable()), "-m", "stead.dev.chdb_server", str(self._config_file)]

    async def is_ready(self) -> bool:
        secret = self.instance.secrets[_PASSWORDS[Program.WORKER]]
        body = "select 1"
        head = (
            f"POST /?database=default HTTP/1.1\r\nHost: {LOOPBACK}:{self.port}\r\n"
            f"X-ClickHouse-User: worker\r\nX-ClickHouse-Key: {secret}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        )
        return b" 200 " in await probes.read_line(self.port, head.encode())
