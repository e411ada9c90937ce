"""`stead init`, `stead link` and `stead unlink`."""

from pathlib import Path
from typing import Any

import click

from stead_cli import settings
from stead_cli.failures import NeedsInput
from stead_cli.follow import follow
from stead_cli.session import Command, Session
from stead_sdk import OMIT, types

_PROFILES = ("static", "vanilla", "git_managed", "wasm")


def link_folder(session: Session, site: types.Site, env: str | None = None) -> dict[str, str]:
    link = {"site_id": site.id, "domain": site.domain, "base_url": session.base_url}
    if env:
        link["env_id"] = env
    file = settings.write_link(Path.cwd(), link)
    session.say(f"Linked to {site.domain} ({file.relative_to(Path.cwd())}).")
    return link


def _init(session: Session, domain: str | None, site_profile: str, php: str | None, team: str | None) -> None:
    wanted = domain or session.ask("The domain of the site", "DOMAIN")
    handle = session.client.sites.create(
        domain=wanted, profile=site_profile, php_version=php or OMIT, team_id=team or OMIT
    )
    follow(session, handle)
    site = handle.result()
    link_folder(session, site)
    session.show(site.to_dict() if session.as_json else site.id)


def _link(session: Session, name: str | None, environment: str | None) -> None:
    if name is None:
        if not session.can_ask:
            raise NeedsInput("Which site?", "Give its domain: stead link DOMAIN")
        sites = session.client.sites.list(limit=100).page()
        for site in sites.data:
            session.say(f"  {site.domain}  {site.id}")
        if sites.next_cursor:
            session.say("There are more: `stead sites list --all`.")
        name = session.ask("The site to link", "DOMAIN")
    link = link_folder(session, session.find_site(name), environment)
    if session.as_json:
        session.show(link)


def _unlink(session: Session, **_: Any) -> None:
    found = settings.find_link()
    if found is not None:
        settings.remove_link(found[0])
    session.say("The folder is not linked." if found is None else f"{found[0]} is no longer linked.")
    if session.as_json:
        session.show({"ok": True})


init = Command(
    "init",
    callback=_init,
    params=[
        click.Argument(["domain"], required=False),
        click.Option(
            ["--type", "site_profile"], type=click.Choice(_PROFILES), default="static", show_default=True
        ),
        click.Option(["--php"], metavar="VERSION", help="Of a site with WordPress."),
        click.Option(["--team"], help="The id of the team that owns the site."),
    ],
    help="Create a site for this folder, and link it.",
)
link = Command(
    "link",
    callback=_link,
    params=[
        click.Argument(["name"], required=False),
        click.Option(["--environment"], help="The environment that commands use by default."),
    ],
    help="Link this folder to a site, by its domain, slug or id. Commands in the folder are then about it.",
)
unlink = Command("unlink", callback=_unlink, help="Remove the link of this folder.")
