"""`steadctl edge`: writes nginx's configuration and then becomes nginx."""

import grp
import os
import pwd
import shutil
import sys
from pathlib import Path

from stead.edge.certificate import make_self_signed
from stead.edge.config import configuration
from stead.edge.firewall import firewall_rules
from stead.edge.leftovers import end_leftovers
from stead.edge.settings import EdgeSettings, SettingsInvalid, from_environment

NGINX = Path("/usr/sbin/nginx")


def run() -> None:
    try:
        settings = from_environment()
    except SettingsInvalid as error:
        sys.exit(str(error))
    program = shutil.which("nginx") or str(NGINX)
    if not Path(program).exists():
        sys.exit("nginx is not installed; install it with: apt-get install nginx libnginx-mod-http-lua")
    prepare(settings)
    end_leftovers(settings)
    # Workers whose master was killed find each other through the process group of the master.
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    arguments = argv(settings, program)
    os.execv(arguments[0], arguments)  # noqa: S606


def prepare(settings: EdgeSettings) -> None:
    """Create everything that nginx needs; safe to repeat. nginx makes its sockets accessible to all users, so
    the directory has to keep others out."""
    home = Path(settings.run)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o750 if settings.user else 0o700)
    if settings.user:
        os.chown(home, -1, _group(settings.user))
    (home / "private").mkdir(exist_ok=True)
    (home / "private").chmod(0o700)
    (home / "temporary").mkdir(exist_ok=True)
    (home / "temporary").chmod(0o711)
    Path(settings.data, "releases").mkdir(parents=True, exist_ok=True)
    Path(settings.ledger_file).parent.mkdir(parents=True, exist_ok=True)
    chain, key = make_self_signed("nobody.invalid")
    _write(home / "nobody.crt", chain)
    _write(home / "nobody.key", key)
    if settings.firewall:
        _write(home / "firewall.conf", firewall_rules(settings.crs, f"{settings.run}/temporary").encode())
    _write(home / "nginx.conf", configuration(settings).encode())


def argv(settings: EdgeSettings, program: str = str(NGINX)) -> list[str]:
    return [program, "-p", settings.run, "-c", f"{settings.run}/nginx.conf", "-e", "stderr"]


def _group(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_gid
    except KeyError:
        return grp.getgrnam(user).gr_gid


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
