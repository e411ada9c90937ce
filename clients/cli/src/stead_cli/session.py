"""What a command works with: the client, the site and environment it is about, and how it prints."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import click

from stead_cli import __version__, settings
from stead_cli.addresses import require_private_address, with_scheme
from stead_cli.failures import NOT_FOUND, USAGE, CliError, NeedsInput
from stead_cli.texts import json_text, printable, write_notice, write_result
from stead_sdk import Stead, errors, types

F = TypeVar("F", bound=Callable[..., Any])
PRODUCTION = "production"


class Session:
    def __init__(self, options: Mapping[str, Any]) -> None:
        self.as_json: bool = bool(options.get("as_json"))
        self.is_quiet: bool = bool(options.get("quiet"))
        self._no_input: bool = bool(options.get("no_input"))
        self._site, self._env = options.get("site"), options.get("env")
        self._ca_file: str | None = options.get("ca_file")
        self._profile: str | None = options.get("profile") or os.environ.get("STEAD_PROFILE")

    @cached_property
    def link(self) -> dict[str, Any]:
        found = settings.find_link()
        return found[1] if found else {}

    @cached_property
    def profiles(self) -> dict[str, dict[str, str]]:
        return settings.read_profiles()

    @cached_property
    def profile(self) -> str:
        """The chosen one; otherwise the default one, or another one if that is of the wanted installation."""
        chosen, wanted = self.chosen_profile, _base_url_variable() or self.link.get("base_url")
        if self._profile or not wanted or self.profiles.get(chosen, {}).get("base_url") == wanted:
            return chosen
        fitting = sorted(name for name, each in self.profiles.items() if each.get("base_url") == wanted)
        return fitting[0] if fitting else chosen

    @property
    def chosen_profile(self) -> str:
        return self._profile or settings.DEFAULT_PROFILE

    @property
    def stored(self) -> dict[str, str]:
        return self.profiles.get(self.profile, {})

    @property
    def base_url(self) -> str:
        found = _base_url_variable() or self._linked_url() or self.stored.get("base_url")
        if not found:
            raise NeedsInput(
                "No installation is known.", "Sign in with `stead login`, or set STEAD_BASE_URL."
            )
        return str(found)

    def _linked_url(self) -> str | None:
        """The installation of the link, if it is one of this person. Whoever wrote the folder wrote the link:
        it must not decide where a key is sent."""
        linked = self.link.get("base_url")
        if not linked or any(each.get("base_url") == linked for each in self.profiles.values()):
            return linked
        raise NeedsInput(
            f"The folder is linked to a site of {linked}, where you are not signed in.",
            f"Sign in there with `stead login --base-url {linked}`, or set STEAD_BASE_URL.",
        )

    @property
    def api_key(self) -> str:
        found, address = os.environ.get("STEAD_API_KEY"), self.base_url
        if found:
            self._require_known_target()
        elif self.stored.get("base_url") == address:
            # A key is never sent to another installation than the one it was stored for.
            found = self.stored.get("api_key")
        if not found:
            raise NeedsInput(
                f"You are not signed in to {address} with the profile {self.profile}.",
                f"Sign in with `stead login --base-url {address}`, or set STEAD_API_KEY.",
            )
        return found

    def _require_known_target(self) -> None:
        """The key of the variable is of an installation that nobody named: a folder must not choose it."""
        linked = None if _base_url_variable() else self.link.get("base_url")
        usual = self.profiles.get(self.chosen_profile, {}).get("base_url")
        if linked and linked != usual:
            raise NeedsInput(
                f"STEAD_API_KEY is set, and the folder is linked to {linked}. Is the key for it?",
                "Set STEAD_BASE_URL to the installation of the key, or unset STEAD_API_KEY.",
            )

    @property
    def key_expires_at(self) -> str | None:
        """When the key in use ends, if that is known: of one that was made for this machine."""
        return None if os.environ.get("STEAD_API_KEY") else self.stored.get("expires_at")

    @cached_property
    def client(self) -> Stead:
        return self.client_for(self.base_url, self.api_key)

    def client_for(self, base_url: str, api_key: str) -> Stead:
        require_private_address(base_url)
        agent = f"stead-cli/{__version__}"
        client = Stead(api_key, base_url=base_url, ca_file=self.ca_file, user_agent=agent)
        if os.environ.get("STEAD_DEBUG") == "api":
            from stead_cli.tracing import trace_requests

            trace_requests(client)
        return client

    @property
    def ca_file(self) -> str | None:
        """The certificate authorities to trust instead of those of the system."""
        found = self._ca_file or os.environ.get("STEAD_CA_FILE") or self.stored.get("ca_file")
        if found and not os.access(found, os.R_OK):
            raise CliError(
                f"The file of certificate authorities cannot be read: {found}",
                code="ca_file.unreadable",
                fix="Give another one with --ca-file.",
                exit_code=2,
            )
        return found

    @property
    def may_remind(self) -> bool:
        """Whether somebody may want to know of a new version: a person, who has just used the API."""
        is_turned_off = os.environ.get("STEAD_NO_UPDATE_NOTICE") or os.environ.get("CI")
        is_quiet = self.is_quiet or self.as_json or not sys.stderr.isatty()
        return "client" in vars(self) and not is_turned_off and not is_quiet

    @property
    def can_ask(self) -> bool:
        return not self._no_input and sys.stdin.isatty() and sys.stderr.isatty()

    @cached_property
    def site_id(self) -> str:
        found = self._site or os.environ.get("STEAD_SITE") or self.link.get("site_id")
        if not found:
            raise NeedsInput(
                "No site is given.",
                "Give it with --site (an id or a domain), or link the folder: `stead link`.",
            )
        return self.find_site(str(found)).id if not str(found).startswith("site_") else str(found)

    @property
    def site_name(self) -> str:
        """The site as people call it. The link is not asked: whoever wrote it may have lied."""
        given = self._site or os.environ.get("STEAD_SITE")
        if given:
            return given
        try:
            return self.client.sites.get(self.site_id).domain
        except errors.APIError:
            return self.site_id

    @cached_property
    def env_id(self) -> str:
        return self.find_environment(self.env_name)

    @property
    def env_name(self) -> str:
        """The environment as it was given."""
        site = self._site or os.environ.get("STEAD_SITE")
        is_linked = not site or site in (self.link.get("site_id"), self.link.get("domain"))
        linked = self.link.get("env_id") if is_linked else None
        return str(self._env or os.environ.get("STEAD_ENV") or linked or PRODUCTION)

    def find_environment(self, name: str) -> str:
        """The id of an environment, from its id, type, branch or host. Production is known by its name."""
        if name == PRODUCTION or name.startswith("env_"):
            return name
        listed = list(self.client.environments.list(self.site_id))
        found = [each for each in listed if name in _names_of(each)]
        if len(found) == 1:
            return found[0].id
        candidates = ", ".join(f"{each.branch or each.type} ({each.id})" for each in found or listed)
        raise CliError(
            f"{len(found)} environments are called {name}." if found else f"There is no environment {name}.",
            code="environment.ambiguous" if found else "environment.not_found",
            fix=f"Give one with --env: {', '.join(filter(None, [PRODUCTION, candidates]))}",
            exit_code=USAGE if found else NOT_FOUND,
        )

    def find_site(self, name: str) -> types.Site:
        """A site by its id, domain or slug."""
        if name.startswith("site_"):
            return self.client.sites.get(name)
        wanted = name.lower().rstrip(".")
        sites = self.client.sites
        for site in sites.list(domain=wanted) if "." in wanted else sites.list(q=wanted, limit=100):
            if "." in wanted or wanted == site.slug:
                return site
        raise CliError(
            f"There is no site {name}.",
            code="site.not_found",
            fix="List them: `stead sites list`.",
            exit_code=5,
        )

    def say(self, text: str) -> None:
        """Talk, which is not the result: on stderr, and not with `--quiet` or `--json`."""
        if not self.is_quiet and not self.as_json:
            write_notice(text)

    def tell(self, text: str) -> None:
        """Talk without which nothing goes on: on stderr, also with `--quiet` and `--json`."""
        write_notice(text)

    def show(self, value: Any, columns: Sequence[str] = ()) -> None:
        """The result, on stdout."""
        if self.as_json:
            write_result(json_text(value, indent=2))
        elif isinstance(value, list):
            show_table(value, columns)
        elif isinstance(value, dict):
            show_fields(value)
        elif value is not None:
            write_result(str(value))

    def ask(self, question: str, flag: str, *, hidden: bool = False) -> str:
        if not self.can_ask:
            raise NeedsInput(
                f"{question} is needed, and there is no terminal to ask at.", f"Give it with {flag}."
            )
        return str(click.prompt(question, hide_input=hidden, err=True))

    def confirm(
        self, what: str, level: str, name: str, *, yes: bool, confirmed: str | None, also: str = ""
    ) -> None:
        """Ask before something is taken away. What is lost must be named; `also` is another name of it."""
        if level == "none" or (yes and level == "reversible") or (confirmed and confirmed in (name, also)):
            return
        if level == "irreversible":
            flag = f"--confirm {name}"
            if confirmed:
                raise CliError(
                    f"--confirm names {confirmed}, not {name}.", code="confirm.mismatch", exit_code=2
                )
            if not self.can_ask:
                raise NeedsInput(f"{what} cannot be undone.", f"Give {flag}.")
            typed = click.prompt(f"{what} cannot be undone. Type {name} to confirm", err=True)
            if typed not in (name, also):
                raise CliError("Nothing was changed.", code="confirm.mismatch")
            return
        if not self.can_ask:
            raise NeedsInput(f"{what} needs a confirmation.", "Give --yes.")
        if not click.confirm(f"{what}?", err=True):
            raise CliError("Nothing was changed.", code="confirm.declined")


def _base_url_variable() -> str | None:
    given = os.environ.get("STEAD_BASE_URL")
    return with_scheme(given) if given else None


def _names_of(environment: types.Environment) -> tuple[str | None, ...]:
    host = environment.subdomain
    return environment.type, environment.branch, host, host.partition(".")[0]


def show_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    if not cells:
        write_notice("None.")
        return
    heads = [printable(name).replace("_", " ").upper() for name in columns]
    widths = [max(len(line[at]) for line in [heads, *cells]) for at in range(len(columns))]
    for line in [heads, *cells]:
        write_result("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def show_fields(value: Mapping[str, Any], indent: str = "") -> None:
    width = max(map(len, value), default=0)
    for name, each in value.items():
        if isinstance(each, dict) and each:
            write_result(f"{indent}{printable(name)}:")
            show_fields(each, f"{indent}  ")
        else:
            write_result(f"{indent}{printable(name):<{width}}  {_cell(each)}")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


_COMMON = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, also for errors."),
    click.Option(["--quiet", "-q"], is_flag=True, help="Print only the result."),
    click.Option(["--no-input"], is_flag=True, help="Never ask; exit with 4 instead."),
    click.Option(["--profile"], help="The profile to use."),
    click.Option(["--ca-file"], metavar="FILE", help="Certificate authorities to trust, as PEM."),
)
COMMON_NAMES = ("as_json", "quiet", "no_input", "profile", "ca_file")


def common_options() -> list[click.Parameter]:
    return list(_COMMON)


def site_options(*, environment: bool = True) -> list[click.Parameter]:
    found: list[click.Parameter] = [click.Option(["--site"], help="The id or domain of the site.")]
    if environment:
        found.append(
            click.Option(["--env"], help="The environment: its id, type or branch; by default production.")
        )
    return found


class Command(click.Command):
    """A command with the options that every command has. Its function gets a `Session` first."""

    def __init__(self, *args: Any, site: bool = False, environment: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        if site:
            self.params += site_options(environment=environment)
        self.params += common_options()

    def invoke(self, ctx: click.Context) -> Any:
        session = Session(ctx.params)
        ctx.ensure_object(dict)["as_json"] = session.as_json
        given = {
            name: value for name, value in ctx.params.items() if name not in (*COMMON_NAMES, "site", "env")
        }
        assert self.callback is not None  # noqa: S101 - every command has a function
        result = ctx.invoke(self.callback, session, **given)
        if session.may_remind:
            from stead_cli.updates import remind

            remind(session.client, session.key_expires_at)
        return result
