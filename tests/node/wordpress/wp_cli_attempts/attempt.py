"""One attempt: commands, what lies in the site beforehand, and what happens if the attempt succeeds.

Commands and files contain placeholders, so that attempts can run at the same time:

| Placeholder | Value |
|---|---|
| `{own}` | a path in the uploads that only this attempt uses |
| `{ran}` | the file that exists if code was run |
| `{code}` | PHP code that makes this file |
| `{php}` | a file with this code |
| `{name}` | a name that only this attempt uses |
| `{user}` | the login of a subscriber of its own |
| `{post}` | the number of a post of its own |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.node.wordpress.wordpress_node import Site

CONTENT = "/srv/site/wp-content"
WP = "php /usr/local/lib/wp-cli.phar"
TOTP_SECRET = "JBSWY3DPEHPK3PXP"
"""Of the administrator, as plugins for two-factor authentication store it."""


@dataclass(frozen=True)
class Outcome:
    """What was printed, and what the site is like now."""

    site: Site
    printed: str
    secrets: tuple[str, ...]

    @property
    def leaked(self) -> list[str]:
        printed = self.printed.replace("\\/", "/")  # as in JSON of PHP
        return [each for each in self.secrets if each in printed]

    def has(self, path: str) -> bool:
        return self._find(path).exists()

    def read(self, path: str) -> str:
        return self._find(path).read_text()

    def _find(self, path: str) -> Path:
        return self.site.paths.content / path.removeprefix(f"{CONTENT}/")


Effect = Callable[[Outcome], bool]
Make = Callable[[Callable[[str], str]], Effect]
"""Makes an effect, given the function that fills in placeholders."""


def runs() -> Make:
    """PHP code was run."""
    return makes("{ran}")


def makes(path: str) -> Make:
    return lambda fill: lambda outcome: outcome.has(fill(path))


def removes(path: str) -> Make:
    return lambda fill: lambda outcome: not outcome.has(fill(path))


def prints(text: str) -> Make:
    return lambda fill: lambda outcome: fill(text) in outcome.printed


def leaks() -> Make:
    """A password, its hash or another secret was printed."""
    return lambda _: lambda outcome: bool(outcome.leaked)


def writes(path: str, text: str) -> Make:
    """The file contains the text."""
    return lambda fill: lambda outcome: fill(text) in outcome.read(fill(path))


def finds(query: str) -> Make:
    """The query has a row."""
    return lambda fill: lambda outcome: bool(outcome.site.query(fill(query)))


def has_meta(key: str, text: str) -> Make:
    """Of the user of the attempt."""
    return finds(
        "select 1 from {schema}.wp_usermeta m join {schema}.wp_users u on u.ID = m.user_id"
        f" where u.user_login = '{{user}}' and m.meta_key = '{key}' and m.meta_value like '%{text}%'"
    )


def has_option(name: str, text: str) -> Make:
    return finds(
        f"select 1 from {{schema}}.wp_options where option_name = '{name}' and option_value like '%{text}%'"
    )


@dataclass(frozen=True)
class Attempt:
    commands: tuple[tuple[str, ...], ...]
    effect: Make | None
    """What the commands do without any rules. None if WP-CLI 2.12 itself does nothing of what was wanted, or
    if there would be no site left to look at."""
    watched: Make
    """What must not happen."""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    proof: str = ""
    """A script for bash that shows the effect, if the commands alone do not."""


@dataclass(frozen=True)
class NumberedAttempt:
    """An attempt with the placeholders filled in."""

    number: int
    attempt: Attempt

    def fill(self, text: str) -> str:
        own = f"{CONTENT}/uploads/{self.name}"
        for placeholder, value in {
            "{php}": f"{own}.php",
            "{code}": 'touch("{ran}");',
            "{ran}": f"{own}.ran",
            "{own}": own,
            "{name}": self.name,
            "{user}": self.user,
            "{post}": self.post,
            "{wp}": WP,
        }.items():
            text = text.replace(placeholder, value)
        return text

    @property
    def name(self) -> str:
        return f"attempt{self.number:03}"

    @property
    def user(self) -> str:
        return f"user{self.number:03}"

    @property
    def post(self) -> str:
        return str(1000 + self.number)

    @property
    def commands(self) -> list[list[str]]:
        return [[self.fill(word) for word in command] for command in self.attempt.commands]

    @property
    def files(self) -> Mapping[str, bytes]:
        files = {"{php}": "<?php {code}", **self.attempt.files}
        return {
            self.fill(path): self.fill(content).encode() if isinstance(content, str) else content
            for path, content in files.items()
        }

    @property
    def proof(self) -> str:
        return self.fill(self.attempt.proof)

    @property
    def watched(self) -> Effect:
        return self.attempt.watched(self.fill)

    @property
    def effect(self) -> Effect | None:
        return self.attempt.effect(self.fill) if self.attempt.effect else None

    def mentions(self, text: str) -> bool:
        return any(text in word for command in self.commands for word in command)

    def __str__(self) -> str:
        return f"{self.name}: {self.commands}"


def attempt(
    *commands: str | tuple[str, ...],
    effect: Make | None = None,
    watched: Make | None = None,
    files: Mapping[str, str | bytes] | None = None,
    proof: str = "",
) -> Attempt:
    """Words of a command are separated by single spaces, or given as a tuple."""
    split = tuple(tuple(each.split(" ")) if isinstance(each, str) else each for each in commands)
    return Attempt(split, effect, watched or effect or runs(), files or {}, proof)
