"""`stead logs`: lines of the application, or requests of visitors."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from stead_cli.session import Command, Session
from stead_cli.texts import json_text, printable, write_result
from stead_sdk import OMIT


def _logs(
    session: Session,
    follow: bool,
    hours: int,
    limit: int,
    severity: str | None,
    query: str | None,
    requests: bool = False,
    container: str | None = None,
) -> None:
    site, env, insights = session.site_id, session.env_id, session.client.insights
    given: dict[str, Any] = {"severity": severity or OMIT, "q": query or OMIT, "container": container or OMIT}
    if requests and (severity or query):
        raise click.UsageError("--severity and --query are for lines, not for --requests.")
    if follow:
        stream: Any = (
            insights.follow_requests_of_environment(site, env)
            if requests
            else insights.follow_logs_of_environment(site, env, **given)
        )
        _follow(session, stream, requests)
        return
    found: list[Any]
    if requests:
        answer: Any = insights.requests_of_environment(site, env, hours=hours, limit=limit)
        found = [each.to_dict() for each in reversed(answer.requests)]
    else:
        answer = insights.logs_of_environment(site, env, hours=hours, limit=limit, **given)
        found = [each.to_dict() for each in reversed(answer.lines)]
    if session.as_json:
        session.show(found)
        return
    for each in found:
        session.show(_text(each, requests))
    if answer.truncated:
        session.say("There are more: --limit N, or a shorter time with --hours.")
    if not found:
        session.say("None.")


def _follow(session: Session, events: Iterator[Any], requests: bool) -> None:
    """With `--json`, one object in each line."""
    session.say("Waiting for what is new. Ctrl-C ends it.")
    for event in events:
        if event.item is None:
            session.say(_notice(event.kind, event.data))
        elif session.as_json:
            write_result(json_text(event.data))
        else:
            session.show(_text(event.data, requests))


def _notice(kind: str, data: Any) -> str:
    if kind == "reconnected":
        return "The connection was broken. What arrived meanwhile is not shown."
    if kind == "truncated":
        return f"More arrived than is shown ({data.get('shown')})."
    return str(data.get("message") or kind)


def _text(each: Any, requests: bool) -> str:
    if requests:
        line = f"{each['ts']}  {each['status']}  {each['method']:<4} {each['path']}  {each['duration_ms']} ms"
    else:
        line = f"{each['ts']}  {each['severity_text']:<5}  {each['body']}"
    return printable(line)


_REQUESTS = click.Option(["--requests"], is_flag=True, help="Requests of visitors instead of lines.")
_OPTIONS = (
    click.Option(["--follow", "-f"], is_flag=True, help="Wait for what is new."),
    click.Option(["--hours"], type=int, default=24, show_default=True, help="How far to look back."),
    click.Option(["--limit"], type=int, default=200, show_default=True, help="The latest so many."),
    click.Option(["--severity"], help="Only lines of this severity: ERROR, WARN, INFO."),
    click.Option(["--query"], help="Only lines with these words."),
)


def log_command(help_: str, *, container: str | None = None) -> Command:
    """Of a container there are only lines: requests are those of the whole site."""
    return Command(
        "logs",
        callback=partial(_logs, container=container),
        params=[*_OPTIONS, *(() if container else (_REQUESTS,))],
        site=True,
        environment=True,
        help=help_,
    )


logs = log_command(
    "Show what an environment has logged, oldest first. `stead logs tail` shows all your sites."
)
