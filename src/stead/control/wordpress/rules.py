"""What a WordPress environment may use. No I/O."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WordPressLimits:
    """Of one environment. A plan without limits of its own has these."""

    memory_mb: int = 512
    cpus: float = 1.0
    processes: int = 64
    disk_mb: int = 2048


@dataclass(frozen=True, slots=True)
class WordPressSite:
    """What the first installation needs. The sealed password is removed when it is done."""

    title: str
    admin_user: str
    admin_email: str
    admin_password: bytes | None
    php_version: str
    git_managed: bool
    plan: str
    owner: str
