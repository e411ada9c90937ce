"""`stead login`, `stead logout` and `stead whoami`."""

import os
import sys
from typing import Any

import click

from stead_cli import settings
from stead_cli.addresses import require_private_address, with_scheme
from stead_cli.devices import sign_in
from stead_cli.failures import CliError, NeedsInput
from stead_cli.session import Command, Session
from stead_sdk import Stead


def _login(
    session: Session,
    base_url: str | None,
    with_key: bool,
    device: bool,
    no_browser: bool,
    scopes: tuple[str, ...],
) -> None:
    address = base_url or os.environ.get("STEAD_BASE_URL") or session.stored.get("base_url")
    if not address:
        address = session.ask("The address of the installation", "--base-url")
    address = with_scheme(address)
    require_private_address(address)
    # A linked folder chooses a profile only if it is that of the address.
    profile = session.profile if session.stored.get("base_url") == address else session.chosen_profile
    if device or (session.can_ask and not with_key):
        stored = sign_in(session, address, opens_browser=not no_browser, scopes=scopes)
    elif with_key:
        stored = {"api_key": _read_key(session)}
    else:
        raise NeedsInput(
            "There is no terminal to ask at.",
            "Give a key on stdin: stead login --with-key < key.txt; or approve in a browser:"
            " stead login --device",
        )
    with session.client_for(address, stored["api_key"]) as client:
        found = _identify(client)
    trusted = {"ca_file": os.path.abspath(session.ca_file)} if session.ca_file else {}  # noqa: PTH100
    with settings.changing_profiles() as profiles:
        before = profiles.get(profile, {})
        profiles[profile] = {**trusted, "base_url": address, **stored}
    if before.get("api_key") != stored["api_key"]:
        # Nobody else has the key that this machine had.
        _revoke(session, before)
    session.say(f"Signed in to {address} as {found.get('email') or found['account']}.")
    if session.as_json:
        session.show({**found, "base_url": address, "profile": profile})


def _read_key(session: Session) -> str:
    if session.can_ask:
        key = session.ask("API key", "--with-key, on stdin", hidden=True).strip()
    else:
        if sys.stdin.isatty():
            raise NeedsInput("A key is expected on stdin.", "For example: stead login --with-key < key.txt")
        key = sys.stdin.read().strip()
    if not key:
        raise NeedsInput(
            "A key is needed.",
            "On stdin: stead login --with-key < key.txt; or approve in a browser: stead login --device",
        )
    return key


def _logout(session: Session) -> None:
    if session.profile not in session.profiles:
        session.say("You were not signed in.")
    else:
        is_revoked = _revoke(session, session.stored)
        with settings.changing_profiles() as profiles:
            removed = profiles.pop(session.profile, session.stored)
        more = "and revoked" if is_revoked else "but not revoked: see `stead keys list`"
        session.say(f"The key for {removed.get('base_url')} was removed from this machine, {more}.")
    if session.as_json:
        session.show({"ok": True})


def _revoke(session: Session, stored: dict[str, str]) -> bool:
    """A key that was made for this machine ends with it. One that was typed may be in use elsewhere."""
    if "key_id" not in stored or "api_key" not in stored:
        return False
    from stead_sdk import errors

    try:
        with session.client_for(stored["base_url"], stored["api_key"]) as client:
            client.with_options(max_retries=0, timeout=10).api_keys.revoke(stored["key_id"])
    except (errors.SteadError, CliError):
        # The key is forgotten in any case.
        return False
    return True


def _whoami(session: Session) -> None:
    found = _identify(session.client)
    key = session.api_key
    shown = {
        **found,
        "base_url": session.base_url,
        "profile": session.profile,
        "key": f"{key.rpartition('_')[0]}_…{key[-4:]}",
        "key_expires_at": session.key_expires_at,
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
        click.Option(["--with-key"], is_flag=True, help="Read an API key from stdin, or ask for it."),
        click.Option(["--device"], is_flag=True, help="Approve in a browser, also without a terminal."),
        click.Option(["--no-browser"], is_flag=True, help="Do not open a browser; show the address."),
        click.Option(["--scope", "scopes"], multiple=True, help="What the key may do. Repeat it."),
    ],
    help="Sign in. You approve in a browser, on this machine or another one, and compare a code; this machine"
    " gets a key of its own for 90 days. Only you can read the file in which it is stored.",
)
logout = Command("logout", callback=_logout, help="Revoke the key of this machine, and forget it.")
whoami = Command("whoami", callback=_whoami, help="Show who you are, where, and with which key.")
