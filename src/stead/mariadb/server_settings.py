"""How a node runs MariaDB: one server for all its environments, which do not trust each other."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

MB = 1 << 20
SYSTEM_USER = "mysql"
"""Created by Debian's package. The server runs as this user if it is started by root."""

MAX_CONNECTIONS = 1500


@dataclass(frozen=True)
class ServerSettings:
    home: Path
    connections: int = MAX_CONNECTIONS
    """Of all environments together. One more is reserved for the node."""
    buffer_pool_mb: int = 128
    statement_seconds: int = 60
    session_memory_mb: int = 128
    """How much one connection may use for sorting, joins, variables and temporary tables."""
    durable: bool = True
    """Otherwise the last second of commits may be lost with the machine, as in tests."""

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def run(self) -> Path:
        """Contains nothing but the socket, so that containers can mount it."""
        return self.home / "run"

    @property
    def socket(self) -> Path:
        return self.run / "mariadb.sock"

    @property
    def pid_file(self) -> Path:
        return self.home / "mariadb.pid"

    @property
    def user(self) -> str:
        """The system user that the server runs as; empty for the current one."""
        return SYSTEM_USER if os.geteuid() == 0 else ""


def system_user() -> str:
    """The administrator of the server is the system user of the node, and has no password."""
    return pwd.getpwuid(os.geteuid()).pw_name


def argv(settings: ServerSettings, executable: str) -> list[str]:
    """Without any configuration file of the machine. The server logs to stderr."""
    return [
        executable,
        "--no-defaults",
        *([f"--user={settings.user}"] if settings.user else []),
        *(f"--{name}={value}" for name, value in _options(settings).items()),
        # Customers may change most variables of their sessions, but not beyond these.
        *(f"--{name}={value}" for name, value in _session_variables(settings).items()),
        *(f"--maximum-{name}={value}" for name, value in _session_variables(settings).items()),
    ]


def _options(settings: ServerSettings) -> dict[str, str | int]:
    return {
        "datadir": str(settings.data),
        "socket": str(settings.socket),
        "pid-file": str(settings.pid_file),
        "tmpdir": str(settings.home / "tmp"),
        "skip-networking": 1,
        "skip-name-resolve": 1,
        # No statement reads or writes files: LOAD DATA, LOAD_FILE and INTO OUTFILE.
        "local-infile": 0,
        "secure-file-priv": str(settings.home / "empty"),
        "symbolic-links": 0,
        "event-scheduler": "DISABLED",
        "performance-schema": 0,
        "character-set-server": "utf8mb4",
        "collation-server": "utf8mb4_unicode_ci",
        # Tables of other engines lose rows in a crash or use memory without a limit. Without
        # NO_ENGINE_SUBSTITUTION, a plugin that asks for MyISAM gets InnoDB instead of an error.
        "default-storage-engine": "InnoDB",
        "enforce-storage-engine": "InnoDB",
        "sql-mode": "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER",
        "max-connections": settings.connections,
        "back-log": 512,
        # A connection that does not sign in counts for no account, so it may not stay.
        "connect-timeout": 3,
        "max-statement-time": settings.statement_seconds,
        "idle-transaction-timeout": settings.statement_seconds,
        "lock-wait-timeout": settings.statement_seconds,
        "innodb-buffer-pool-size": settings.buffer_pool_mb * MB,
        "innodb-lock-wait-timeout": 50,
        "innodb-flush-log-at-trx-commit": 1 if settings.durable else 2,
        "innodb-temp-data-file-path": "ibtmp1:12M:autoextend:max:2G",
        "table-open-cache": 4000,
        # Failed and aborted connections would let a customer fill the log.
        "log-warnings": 1,
    }


def _session_variables(settings: ServerSettings) -> dict[str, int]:
    return {
        "max-session-mem-used": settings.session_memory_mb * MB,
        "sort-buffer-size": 2 * MB,
        "join-buffer-size": MB,
        "read-buffer-size": MB,
        "read-rnd-buffer-size": MB,
        "tmp-memory-table-size": 16 * MB,
        "max-heap-table-size": 16 * MB,
        "tmp-disk-table-size": 512 * MB,
        "group-concat-max-len": 4 * MB,
        "max-allowed-packet": 64 * MB,
        "bulk-insert-buffer-size": 8 * MB,
        "wait-timeout": 300,
        "interactive-timeout": 300,
    }
