"""nginx: the edge of the node on this machine. A host is a directory of the node's, so it never reloads."""

import os
import pwd
import shutil
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Place, Ports, find_program
from stead.dev.process import run

SYSTEM_USER = "www-data"
INSTALLED = Path("/usr/sbin/nginx")
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx(Engine):
    name: ClassVar[str] = "nginx"
    ports: ClassVar[Ports] = Ports(("edge",))

    def __init__(self, place: Place, hosts: Path) -> None:
        super().__init__(place)
        self._hosts = hosts

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def user(self) -> str | None:
        """It reads what customers wrote; root has no business there."""
        return SYSTEM_USER if os.geteuid() == 0 else None

    def program(self) -> Path:
        # Debian puts it where only root's PATH leads.
        return INSTALLED if INSTALLED.exists() else find_program("nginx", "apt-get install nginx")

    async def version(self) -> str:
        said = await run([str(self.program()), "-v"])
        return said.errors.strip().rpartition("/")[2]

    @property
    def _config_file(self) -> Path:
        return self.place.home / "nginx.conf"

    async def prepare(self) -> None:
        await super().prepare()
        if self.user is not None:
            shutil.chown(self.place.home, self.user, pwd.getpwnam(self.user).pw_gid)
        self._config_file.write_text(config(self.port, self.place.home, self._hosts))
        self._config_file.chmod(0o644)

    def argv(self) -> list[str]:
        home = self.place.home
        return [str(self.program()), "-p", str(home), "-c", str(self._config_file), "-e", "stderr"]

    async def ready(self) -> bool:
        return (await probe.line(self.port, b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.")


def config(port: int, home: Path, hosts: Path) -> str:
    """One server for every host. nginx itself refuses a host with a slash or two dots in a row, and what a
    release links to is served only if it is inside."""
    temporary = "".join(f'    {kind}_temp_path "{home}/{kind}";\n' for kind in TEMPORARY)
    # One process: killed, it leaves no worker that holds its port.
    return f"""daemon off;
master_process off;
pid "{home}/nginx.pid";
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    charset utf-8;
    access_log off;
    server_tokens off;
    sendfile on;
{temporary}    server {{
        listen {LOOPBACK}:{port} default_server;
        server_name _;
        root "{hosts}/$host";
        disable_symlinks on from=$document_root;
        absolute_redirect off;
        location ~ "/\\.(?!well-known/)" {{ return 404; }}
    }}
}}
"""
