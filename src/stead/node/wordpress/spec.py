"""What the node stores about a WordPress environment."""

import secrets
from typing import Literal

from msgspec import Struct

from stead.node.containers.limits import ContainerLimits
from stead.protocol.work.hosting import WordPressSettings

SALTS = 8


class Datasets(Struct, frozen=True):
    """The disks and schemas of an environment, by name. The first one has the name `""`."""

    current: str = ""
    """What visitors see. It changes together with the release, in one write."""
    kept: str | None = None
    """What they saw before, until the next change has succeeded."""
    kept_release: str = ""
    staged: str = ""
    """One that is being made."""
    uploads: bool = True
    """Whether the current one was made with the uploads of its source."""
    rows: str | None = None
    """The one whose schema is used, if that is not the current one: a push may replace only the files, or
    only the rows."""
    kept_rows: str | None = None

    @property
    def schema(self) -> str:
        return self.current if self.rows is None else self.rows

    @property
    def kept_schema(self) -> str | None:
        return self.kept if self.kept_rows is None else self.kept_rows

    @property
    def schemas(self) -> set[str]:
        """All whose schemas are needed."""
        kept = self.schema if self.kept_schema is None else self.kept_schema
        return {self.schema, self.staged or self.schema, kept}

    @property
    def names(self) -> set[str]:
        """All that are needed."""
        files = {self.current, self.staged or self.current, self.current if self.kept is None else self.kept}
        return files | self.schemas


class WordPressSpec(Struct, frozen=True):
    settings: WordPressSettings
    """Without the password of the administrator, which is not stored."""
    php_image: str
    """The digest of the image that PHP runs in."""
    core_image: str
    """The digest of the image that contains WordPress itself."""
    state: Literal["new", "installed"] = "new"
    release: str = ""
    """The code of a git-managed site; empty before its first deployment."""
    datasets: Datasets = Datasets()
    previous_php: str = ""
    previous_php_image: str = ""
    """What PHP ran in before its version was switched. It is kept until the next change of the environment,
    because the switch may be undone."""
    php_unconfirmed: bool = False
    """Whether the site answered before the switch, and was not yet seen to answer after it."""

    @property
    def promised_mb(self) -> int:
        """What is kept or being made beside the current dataset takes as much space."""
        more = [self.datasets.kept is not None, bool(self.datasets.staged) and self.state == "installed"]
        halves = len(self.datasets.names - {self.datasets.current, self.datasets.kept, self.datasets.staged})
        return self.settings.promised_mb * (1 + sum(more) + halves)

    @property
    def limits(self) -> ContainerLimits:
        wanted = self.settings
        return ContainerLimits(
            memory_mb=wanted.memory_mb, processes=wanted.processes, cpus=wanted.cpus, cpu_shares=1024
        )


class WordPressSecrets(Struct, frozen=True):
    database_password: str
    salts: tuple[str, ...]
    """The keys and salts of wp-config.php."""


def new_secrets() -> WordPressSecrets:
    return WordPressSecrets(secrets.token_urlsafe(32), tuple(secrets.token_urlsafe(48) for _ in range(SALTS)))
