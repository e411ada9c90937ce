"""`steadctl`: the command line for operators.

The commands here start a program or concern the whole installation. Each group of commands has a module in
the package that it concerns.
"""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from stead.control.accounts.commands import app as accounts
from stead.control.artifacts.commands import app as artifacts
from stead.control.backups.commands import app as backups
from stead.control.insights.commands import app as insights
from stead.control.nodes.commands import app as nodes
from stead.control.sealing_commands import app as keys
from stead.dev.commands import app as dev
from stead.node.images.commands import app as images
from stead.node.ssh.gateway.commands import app as ssh

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(dev, name="dev")
app.add_typer(images, name="images")
app.add_typer(accounts, name="accounts")
app.add_typer(nodes, name="nodes")
app.add_typer(ssh, name="ssh")
app.add_typer(artifacts, name="artifacts")
app.add_typer(keys, name="keys")
app.add_typer(insights, name="insights")
app.add_typer(backups, name="backups")


@app.command()
def api() -> None:
    """Serve the HTTP API. Reads STEAD_* settings."""
    from stead.control.serving import run_api

    run_api()


@app.command()
def worker() -> None:
    """Run jobs, receive messages from nodes, deliver webhooks and mail. Reads STEAD_* settings."""
    from stead.control.serving import run_worker

    run_worker()


@app.command()
def node() -> None:
    """Run the sites of this machine. Reads STEAD_NODE_* settings."""
    from stead.node.main import run

    run()


@app.command()
def edge() -> None:
    """Serve the sites of this node's region: replaces this process by nginx. Reads STEAD_EDGE_* settings."""
    from stead.edge.main import run

    run()


@app.command()
def functions() -> None:
    """Run the WebAssembly functions of this node. Reads the settings of the node."""
    from stead.node.functions.main import run

    run()


@app.command()
def repositories() -> None:
    """Let nodes add to the backups of their sites. Reads STEAD_REPOSITORIES_*, STEAD_S3_* and
    STEAD_REPOSITORY_KEY."""
    from stead.repositories.main import run

    run()


@app.command()
def announce(
    delete_unknown: Annotated[
        bool, typer.Option(help="Also delete if a large part of all records is unknown.")
    ] = False,
) -> None:
    """Send the records of all sites to the edges again, and delete those of sites that do not exist. Needs
    the settings of a worker."""
    from stead.control.edge_feed.republishing import TooManyUnknown
    from stead.control.provisioning import announce_everything

    def report_progress(count: int) -> None:
        typer.echo(f"{count} sites so far", err=True)

    try:
        sites, removed = asyncio.run(announce_everything(report_progress, delete_unknown=delete_unknown))
    except TooManyUnknown as error:
        typer.echo(f"steadctl announce: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{sites} sites were announced, {removed} records of unknown sites were deleted")


@app.command()
def migrate() -> None:
    """Migrate the database to this version of Stead. Can be repeated."""
    from stead.control.engines.migrations import migrate as upgrade
    from stead.control.settings import from_environment

    upgrade(from_environment().database_url)


@app.command()
def openapi() -> None:
    """Print the OpenAPI description. Needs no engine."""
    from stead.control.documents import description

    typer.echo(description(), nl=False)


@app.command()
def generate(
    root: Annotated[Path, typer.Argument(help="The root of a checkout.")] = Path(),
    *,
    check: Annotated[bool, typer.Option(help="Only check that the files are up to date.")] = False,
) -> None:
    """Write the generated files: API description, error and event pages, tables, package list."""
    from stead.control import documents as control_documents
    from stead.dev import documents as dev_documents
    from stead.node import documents as node_documents
    from stead.repositories import documents as repositories_documents

    others = dev_documents, node_documents, repositories_documents
    if not check:
        for documents in (control_documents, *others):
            documents.write(root)
    elif stale := [
        *control_documents.stale(root),
        *(path for documents in others for path in documents.find_stale(root)),
    ]:
        typer.echo(f"out of date, run `make generate`: {', '.join(map(str, stale))}", err=True)
        raise typer.Exit(1)


def main() -> None:
    """Run a command. A missing setting or an unreachable database is a message, not a traceback."""
    from stead.control.engines.postgres import DATABASE_UNREACHABLE
    from stead.control.settings import SettingsInvalid

    try:
        app()
    except SettingsInvalid as error:
        sys.exit(f"steadctl: {error}")
    except DATABASE_UNREACHABLE as error:
        sys.exit(f"steadctl: the database is unreachable ({type(error).__name__})")


if __name__ == "__main__":
    main()
