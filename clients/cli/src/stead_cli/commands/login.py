"""`stead login`, `stead logout` and `stead whoami`."""

import os
import sys
from typing import Any

import click

from stead_cli import settings
from stead_cli.failures import CliError, NeedsInput
from stead_cli.session import Command, Session
from stead_sdk import Stead


def _login(session: Session, base_url: str | None, with_key: bool) -> None:
    address = base_url or os.environ.get("STEAD_BASE_URL") or session.stored.get("base_url")
    if not address:
        address = session.ask("The address of the installation", "--base-url")
    address = address.rstrip("/")
    if with_key or not session.can_ask:
        if sys.stdin.isatty():
            raise NeedsInput("A key is expected on stdin.", "For example: stead login --with-key < key.txt")
        key = sys.stdin.read().strip()
    else:
        key = session.ask("API key", "--with-key, on stdin", hidden=True).strip()
    if not key:
        raise NeedsInput("A key is needed.", "Give it on stdin: stead login --with-key < key.txt")
    with session.client_for(address, key) as client:
        found = _identify(client)
    profiles = settings.read_profiles()
    profiles[session.profile] = {**profiles.get(session.profile, {}), "base_url": address, "api_key": key}
    settings.write_profiles(profiles)
    session.say(f"Signed in to {address} as {found.get('email') or found['account']}.")
    if session.as_json:
        session.show({**found, "base_url": address, "profile": session.profile})


def _logout(session: Session) -> None:
    profiles = settings.read_profiles()
    if profiles.pop(session.profile, None) is None:
        session.say("You were not signed in.")
    else:
        settings.write_profiles(profiles)
        session.say("The key was removed from this machine. Revoke it with `stead keys revoke`.")
    if session.as_json:
        session.show({"ok": True})


def _whoami(session: Session) -> None:
    found = _identify(session.client)
    key = session.api_key
    shown = {
        **found,
        "base_url": session.base_url,
        "profile": session.profile,
        "key": f"{key.rpartition('_')[0]}_…{key[-4:]}",
        "mode": "test" if session.client.is_test else "live",
        "site": session.link.get("domain"),
    }
    session.show(shown)


def _identify(client: Stead) -> dict[str, Any]:
    """The account, if the key may read it. Any key may read its own rate limits."""
    response = client.rate_limits.with_raw_response.get()
    if response.status != 200:
        raise CliError("The address is not that of a Stead installation.")
    from stead_sdk import errors

    try:
        account = client.account.get()
    except (errors.PermissionDenied, errors.NotFound):
        return {"account": "an account that this key may not read", "email": None}
    return {"account": account.id, "email": account.email}


login = Command(
    "login",
    callback=_login,
    params=[
        click.Option(["--base-url"], help="The address of the installation."),
        click.Option(["--with-key"], is_flag=True, help="Read the API key from stdin."),
    ],
    help="Sign in with an API key. It is checked, and stored for this profile; only you can read the file.",
)
logout = Command("logout", callback=_logout, help="Forget the key of this profile.")
whoami = Command("whoami", callback=_whoami, help="Show who you are, where, and with which key.")
