"""`stead api`: any request, with the credential of the profile."""

import json
import sys
from typing import Any

import click

from stead_cli.files import read_file
from stead_cli.session import Command, Session
from stead_cli.texts import escape_json, write_result
from stead_sdk._urls import query_string


def _api(session: Session, method: str, path: str, data: str | None, query: tuple[str, ...]) -> None:
    body: Any = None
    if data is not None:
        text = sys.stdin.read() if data == "-" else read_file(data[1:]) if data[:1] == "@" else data
        try:
            body = json.loads(text)
        except ValueError as error:
            raise click.UsageError(f"--data is not JSON: {error}") from None
    target = path if path.startswith("/") else f"/{path}"
    target = target if target.startswith("/v1/") else f"/v1{target}"
    for each in query:
        # The path may have a query, and a name may come more than once.
        name, _, value = each.partition("=")
        target += f"{'&' if '?' in target else '?'}{query_string([(name, value)])}"
    response = session.client.request(method.upper(), target, body=body)
    write_result(escape_json(response.body.decode("utf-8", "replace")))


api = Command(
    "api",
    callback=_api,
    params=[
        click.Argument(["method"]),
        click.Argument(["path"]),
        click.Option(["--data", "-d"], help="The body as JSON, @FILE, or - for stdin."),
        click.Option(["--query"], multiple=True, metavar="NAME=VALUE", help="Repeat it."),
    ],
    help="Send any request to the API: stead api GET /sites. Prints the response as it is.",
)
