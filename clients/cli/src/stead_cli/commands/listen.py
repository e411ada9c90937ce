"""`stead listen`: events of the account go to a program on this machine, signed like a delivery."""

import base64
import hmac
import json
import os
import time
from typing import Any

import click

from stead_cli.session import Command, Session
from stead_cli.texts import json_text, write_result
from stead_sdk import OMIT, errors
from stead_sdk._sync.connections import Connections, Timeouts

_PAUSE = 2.0


def _listen(session: Session, forward_to: str | None, types: tuple[str, ...], seconds: float | None) -> None:
    secret = base64.b64encode(os.urandom(32)).decode()
    known = {event.id for event in session.client.events.list(limit=100).page().data}
    if forward_to:
        session.say(f"Forwarding to {forward_to}. The secret of this session: whsec_{secret}")
    receiver = Connections(Timeouts(5, 15))
    ends = None if seconds is None else time.monotonic() + seconds
    while ends is None or time.monotonic() < ends:
        page = session.client.events.list(type=types[0] if len(types) == 1 else OMIT, limit=100).page().data
        for event in reversed(page):
            if event.id not in known and (not types or event.type in types):
                _forward(session, receiver, forward_to, event.to_dict(), base64.b64decode(secret))
            known.add(event.id)
        time.sleep(_PAUSE)


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
            help="Where to send each event, for example http://localhost:3000.",
        ),
        click.Option(["--type", "types"], multiple=True, help="Only events of this type. Repeat it."),
        click.Option(["--seconds"], type=float, help="Stop after this time."),
    ],
    help="Print new events, and forward them to a program on this machine, signed like a webhook.",
)
