"""`stead db shell` and `stead db export`."""

import os
import sys
from pathlib import Path

import click

from stead_cli.failures import CliError, describe
from stead_cli.follow import follow
from stead_cli.session import Command, Session, show_table
from stead_sdk import OMIT, Stead, errors

_PART = 1 << 20


def _shell(session: Session, execute: str | None, limit: int) -> None:
    if execute is not None:
        _query(session, execute, limit)
    elif session.can_ask and sys.stdout.isatty():
        _converse(session, limit)
    else:
        _query(session, sys.stdin.read(), limit)


def _converse(session: Session, limit: int) -> None:
    """A statement ends with a semicolon. The database can only be read."""
    session.say("Statements end with ; and can only read. Ctrl-D ends the shell.")
    lines: list[str] = []
    while True:
        try:
            lines.append(input("   > " if lines else "sql> "))
        except EOFError:
            click.echo()
            return
        statement = "\n".join(lines).strip()
        if statement in ("exit", "quit", "\\q"):
            return
        if not statement.endswith(";"):
            continue
        lines = []
        try:
            _query(session, statement, limit)
        except (click.UsageError, errors.SteadError) as error:
            session.tell(f"error: {describe(error)['message']}")


def _query(session: Session, statement: str, limit: int) -> None:
    text = statement.strip().rstrip(";").strip()
    if not text:
        raise click.UsageError("A statement is needed.")
    found = session.client.database.query_in_environment(
        session.site_id, session.env_id, query=text, limit=limit
    )
    if session.as_json:
        session.show(found.to_dict())
        return
    show_table(found.rows, found.columns)
    if found.truncated:
        session.say(f"Only the first {found.row_count} rows are shown: --limit N.")


def _export(session: Session, file: str | None, tables: tuple[str, ...], force: bool) -> None:
    target = Path(file) if file else None
    if target is not None and target.exists() and not force:
        raise CliError(f"{target} exists already.", code="file.exists", fix="Give --force.", exit_code=7)
    handle = session.client.database.export_in_environment(
        session.site_id, session.env_id, tables=list(tables) or OMIT
    )
    result = follow(session, handle).result or {}
    if target is None:
        session.show(result if session.as_json else result["download_url"])
        return
    _download(session, str(result["download_url"]), target)
    session.say(f"{target} has {target.stat().st_size} bytes.")
    session.show({**result, "file": str(target)} if session.as_json else str(target))


def _download(session: Session, url: str, target: Path) -> None:
    """Complete or not at all; only the owner can read it, because it is customers' data."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            client: Stead = session.client
            for part in client.download(url):
                opened.write(part)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


shell = Command(
    "shell",
    callback=_shell,
    params=[
        click.Option(["--execute", "-e"], metavar="SQL", help="Run one statement. Otherwise stdin is read."),
        click.Option(["--limit"], type=int, default=100, show_default=True, help="Rows to show at most."),
    ],
    site=True,
    environment=True,
    help="Read the database with SQL. Changes need `stead db execute`.",
)
export = Command(
    "export",
    callback=_export,
    params=[
        click.Argument(["file"], required=False, type=click.Path()),
        click.Option(["--table", "tables"], multiple=True, help="Only this table. Repeat it."),
        click.Option(["--force"], is_flag=True, help="Replace the file."),
    ],
    site=True,
    environment=True,
    help="Export the database to FILE. Without FILE, print a URL that works for a while.",
)
