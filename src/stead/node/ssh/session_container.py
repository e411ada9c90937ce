"""The container of one SSH session: it sees the site as PHP does, with the same user, limits and network, and
ends with the session."""

import re
from collections.abc import Mapping
from pathlib import Path

from stead.node.containers.bundle import BindMount, with_terminal
from stead.node.ssh.messages import Start
from stead.node.ssh.permissions import transfer_argv
from stead.node.wordpress.commands import WP_CLI
from stead.node.wordpress.configuration_files import TEMPLATES
from stead.node.wordpress.plan import WEB_ROOT, WordPressPlan

SFTP_SERVER = "/usr/lib/openssh/sftp-server"
_PROGRAMS = Path(__file__).parent / "bin"
_PROGRAMS_INSIDE = "/run/stead/bin"
_TERMINAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,63}")
_ENVIRONMENT = {
    "PATH": f"{_PROGRAMS_INSIDE}:/usr/local/bin:/usr/bin:/bin",
    # Files of a site in its home would be run by every shell. This directory is read-only.
    "HOME": WEB_ROOT,
    "SHELL": "/bin/bash",
    "USER": "www-data",
    "LOGNAME": "www-data",
    "TMPDIR": "/tmp",  # noqa: S108 - it belongs to the container
    "HISTFILE": "/tmp/.bash_history",  # noqa: S108
    "WP_CLI_CONFIG_PATH": "/run/stead/wp-cli.yml",
    "WP_CLI_CACHE_DIR": "/tmp/wp-cli",  # noqa: S108
    "WP_CLI_DISABLE_AUTO_CHECK_UPDATE": "1",
}


def session_configuration(plan: WordPressPlan, start: Start, cgroup: str) -> Mapping[str, object]:
    """Nothing of the client becomes a part of it but the command, which a shell inside the container runs,
    and the type of the terminal."""
    environment = dict(_ENVIRONMENT)
    if start.terminal:
        environment["TERM"] = start.terminal if _TERMINAL.fullmatch(start.terminal) else "dumb"
    mounts = (
        BindMount(plan.core / WP_CLI.lstrip("/"), WP_CLI),
        BindMount(TEMPLATES / "wp-cli.yml", "/run/stead/wp-cli.yml"),
        BindMount(_PROGRAMS, _PROGRAMS_INSIDE),
    )
    made = plan.configure(_argv(start), environment, *mounts, cgroup=cgroup, directory=WEB_ROOT)
    return with_terminal(made) if start.terminal else made


def _argv(start: Start) -> tuple[str, ...]:
    if start.kind == "sftp":
        return (SFTP_SERVER,)
    if start.kind == "transfer":
        return transfer_argv(start.command)
    return ("/bin/bash", "-c", start.command) if start.kind == "command" else ("/bin/bash",)
