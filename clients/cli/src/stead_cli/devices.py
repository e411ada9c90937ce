"""Signs in by approval in a browser, which may be on another machine (RFC 8628)."""

import getpass
import os
import re
import socket
import sys
import time

from stead_cli.addresses import has_same_origin
from stead_cli.failures import NEEDS_INPUT, REFUSED, CliError
from stead_cli.session import Session
from stead_sdk import Stead, error_codes, errors, types

SCOPES = ("*", "credentials:read", "keys:read", "keys:write")
"""Everything, and what that leaves out: where to connect to (`stead ssh`), and keys (`stead keys`, and
`stead logout`, which revokes the own one)."""
_LONGEST_NAME = 100
_SLOWER, _LONGEST_PAUSE = 5, 20


def sign_in(
    session: Session, base_url: str, *, opens_browser: bool = True, scopes: tuple[str, ...] = ()
) -> dict[str, str]:
    """What is stored of the key of this machine."""
    with session.client_for(base_url, "") as client:
        asked = client.device_authorizations.create(
            machine_name=machine_name(), scopes=list(scopes) or list(SCOPES)
        )
        session.tell(f"Open {asked.verification_uri_complete}")
        session.tell(f"and compare the code: {asked.user_code}")
        # An address elsewhere is shown, and not opened: the person decides.
        if opens_browser and has_browser() and has_same_origin(asked.verification_uri_complete, base_url):
            import webbrowser

            webbrowser.open(asked.verification_uri_complete)
        ends, interval, failures = time.monotonic() + asked.expires_in, max(1, asked.interval), 0
        while time.monotonic() < ends:
            try:
                found = _collect(client, asked.device_code)
                failures = 0
            except errors.RateLimited:
                # As RFC 8628 wants it: from now on.
                found, interval = None, min(interval + _SLOWER, _LONGEST_PAUSE)
            except (errors.APIConnectionError, errors.ServerFault):
                # Also the response with the key may be lost. It can be collected again for a minute.
                found, failures = None, failures + 1
            if found is not None:
                return {"api_key": found.secret, "key_id": found.key_id, "expires_at": found.expires_at}
            time.sleep(min(interval * 2.0**failures, _LONGEST_PAUSE))
    raise _too_late()


def _collect(client: Stead, device_code: str) -> types.DeviceToken | None:
    try:
        return client.device_authorizations.token(device_code=device_code)
    except error_codes.DevicePending:
        return None
    except error_codes.DeviceDenied:
        raise CliError("The sign-in was denied.", code="device.denied", exit_code=REFUSED) from None
    except error_codes.DeviceExpired:
        raise _too_late() from None


def _too_late() -> CliError:
    return CliError(
        "Nobody has approved the sign-in.",
        code="device.expired",
        fix="Run `stead login` again.",
        exit_code=NEEDS_INPUT,
    )


def machine_name() -> str:
    """Of the key: people recognize it in the list."""
    try:
        name = f"{getpass.getuser()} on {socket.gethostname()}"
    except (OSError, KeyError):
        name = f"stead on {socket.gethostname()}"
    cleaned = re.sub(r"[^A-Za-z0-9 ._@()-]", "-", name).lstrip(" ._@()-")
    return cleaned[:_LONGEST_NAME] or "stead"


def has_browser() -> bool:
    """Whether one can be shown: not over SSH, and not where only text is."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
