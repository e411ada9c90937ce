"""`stead webhooks listen`: events of the account go to a program on this machine, signed like a delivery."""

import base64
import hmac
import json
import os
import time
from typing import Any

import click

from stead_cli.addresses import is_loopback
from stead_cli.session import Command, Session
from stead_cli.texts import json_text, write_result
from stead_sdk import OMIT, errors, types
from stead_sdk._sync.connections import Connections, Timeouts
from stead_sdk._sync.pages import Pager
from stead_sdk._urls import split_url

_PAUSE = 2.0
_PASSING = (errors.APIConnectionError, errors.ServerFault, errors.RateLimited)


class Feed:
    """The events that are new since the last look, oldest first."""

    def __init__(self, session: Session, wanted: tuple[str, ...]) -> None:
        self._session, self._wanted = session, wanted
        self._known = {event.id for event in self._newest_first().page().data}
        self._is_away = False

    def _newest_first(self) -> Pager[types.Event]:
        only = self._wanted[0] if len(self._wanted) == 1 else OMIT
        return self._session.client.events.list(type=only, limit=100)

    def read(self) -> list[types.Event]:
        """All of them, or none if the API cannot be asked now."""
        found: list[types.Event] = []
        try:
            for event in self._newest_first():
                # A new event is never below a known one.
                if event.id in self._known:
                    break
                found.append(event)
        except _PASSING as error:
            if not self._is_away:
                self._session.say(f"{error} Trying again …")
            self._is_away = True
            return []
        self._is_away = False
        self._known |= {event.id for event in found}
        return [event for event in reversed(found) if not self._wanted or event.type in self._wanted]


def _listen(session: Session, forward_to: str | None, wanted: tuple[str, ...], seconds: float | None) -> None:
    target = _receiver_address(forward_to) if forward_to else None
    secret = base64.b64encode(os.urandom(32)).decode()
    feed, receiver = Feed(session, wanted), Connections(Timeouts(5, 15))
    if target:
        session.tell(f"Forwarding to {target}. The secret of this session: whsec_{secret}")
    ends = None if seconds is None else time.monotonic() + seconds
    while ends is None or time.monotonic() < ends:
        for event in feed.read():
            _forward(session, receiver, target, event.to_dict(), base64.b64decode(secret))
        time.sleep(_PAUSE if ends is None else max(0.0, min(_PAUSE, ends - time.monotonic())))


def _receiver_address(given: str) -> str:
    """`3000` and `localhost:3000` are what people type."""
    url = given if "://" in given else f"http://{'localhost:' if given.isdecimal() else ''}{given}"
    try:
        _, _, host, port, _ = split_url(url)
    except errors.ConfigurationError:
        host, port = "", 0
    if not 0 < port < 1 << 16:
        raise click.UsageError(f"--forward-to needs a URL: {given!r} is none.")
    return url if "://" in given or is_loopback(host) else f"https://{given}"


def _forward(
    session: Session, receiver: Connections, to: str | None, event: dict[str, Any], key: bytes
) -> None:
    if session.as_json:
        write_result(json_text(event))
    answer = ""
    if to:
        body, second = json.dumps(event).encode(), int(time.time())
        delivery = f"local_{os.urandom(8).hex()}"
        digest = hmac.digest(key, b"%b.%d.%b" % (delivery.encode(), second, body), "sha256").hex()
        headers = {
            "Content-Type": "application/json",
            "Api-Delivery-Id": delivery,
            "Api-Signature": f"t={second},v1={digest}",
        }
        try:
            answer = f"  {receiver.send('POST', to, headers, body).status}"
        except errors.APIConnectionError as error:
            answer = f"  {error}"
    session.say(f"{event['created_at']}  {event['type']}{answer}")


listen = Command(
    "listen",
    callback=_listen,
    params=[
        click.Option(
            ["--forward-to"],
            metavar="URL",
            help="Where to send each event, for example localhost:3000/webhooks.",
        ),
        click.Option(["--type", "wanted"], multiple=True, help="Only events of this type. Repeat it."),
        click.Option(["--seconds"], type=float, help="Stop after this time."),
    ],
    help="Print new events, and forward them to a program on this machine, signed like a webhook.",
)
