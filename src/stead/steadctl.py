"""`steadctl`: the command line for operators."""

import asyncio
import json
import secrets
from pathlib import Path
from typing import Annotated

import typer

from stead.dev.commands import app as dev
from stead.node.images.commands import app as images

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
accounts = typer.Typer(no_args_is_help=True, help="Manage accounts.")
nodes = typer.Typer(no_args_is_help=True, help="Show and drain the nodes of this cell.")
app.add_typer(dev, name="dev")
app.add_typer(images, name="images")
app.add_typer(accounts, name="accounts")
app.add_typer(nodes, name="nodes")
artifacts = typer.Typer(no_args_is_help=True, help="Manage artifacts and the keys that sign them.")
app.add_typer(artifacts, name="artifacts")


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
def announce() -> None:
    """Send the records of all sites to the edges again. Needs the settings of a worker."""
    from stead.control.provisioning import announce_everything

    def report_progress(count: int) -> None:
        typer.echo(f"{count} sites so far", err=True)

    typer.echo(f"{asyncio.run(announce_everything(report_progress))} sites were announced")


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

    if not check:
        control_documents.write(root)
        dev_documents.write(root)
    elif stale := [*control_documents.stale(root), *dev_documents.find_stale(root)]:
        typer.echo(f"out of date, run `make generate`: {', '.join(map(str, stale))}", err=True)
        raise typer.Exit(1)


@accounts.command("create")
def create_account(
    email: Annotated[str, typer.Option()],
    name: Annotated[str, typer.Option()],
    plan: Annotated[str, typer.Option()] = "free",
    *,
    with_key: Annotated[bool, typer.Option(help="Also create an API key with every scope.")] = False,
) -> None:
    """Create an account with a random password, and print its secrets as JSON. They are not shown again."""
    from stead.control.provisioning import create_account
    from stead.shared.errors import ApiError

    password = secrets.token_urlsafe(18)
    try:
        account = asyncio.run(create_account(email, name, plan, password, with_key=with_key))
    except ApiError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(json.dumps(account))


@nodes.command("list")
def list_nodes() -> None:
    """Show every node with its region, its capacity and the time of its last heartbeat."""
    from stead.control.provisioning import node_table

    typer.echo(asyncio.run(node_table()))


@nodes.command("show")
def show_node(node: str) -> None:
    """Show one node, and how many of the records sent to its edge are applied."""
    from stead.control.provisioning import edge_progress, node_table

    typer.echo(asyncio.run(node_table(node)))
    typer.echo(asyncio.run(edge_progress(node)))


@nodes.command("drain")
def drain_node(
    node: str, *, undo: Annotated[bool, typer.Option(help="Allow new sites on the node again.")] = False
) -> None:
    """Place no new sites on a node. Existing sites stay."""
    from stead.control.provisioning import set_draining

    asyncio.run(set_draining(node, draining=not undo))


@nodes.command("key")
def region_key(region: str) -> None:
    """Print the edge key of a region. Its nodes need it as STEAD_EDGE_KEY to serve certificates."""
    from stead.control.provisioning import edge_key
    from stead.shared.edge_keys import InvalidEdgeKey

    try:
        typer.echo(edge_key(region))
    except InvalidEdgeKey as error:
        typer.echo(f"STEAD_EDGE_MASTER_KEY: {error}", err=True)
        raise typer.Exit(1) from None


@artifacts.command("list")
def list_artifacts(most: Annotated[int, typer.Option(help="The maximum number of artifacts.")] = 50) -> None:
    """Show the newest artifacts of all sites."""
    from stead.control.provisioning import artifact_table

    typer.echo(asyncio.run(artifact_table(most)))


@artifacts.command("export")
def export_artifact(artifact: str, directory: Path) -> None:
    """Write an artifact as an OCI layout, together with its signature envelope and the signing key."""
    from stead.control.provisioning import export_artifact as export

    try:
        typer.echo(asyncio.run(export(artifact, directory)))
    except (LookupError, FileExistsError) as error:
        typer.echo(str(error.args[0]), err=True)
        raise typer.Exit(1) from None


@artifacts.command("rotate-key")
def rotate_key() -> None:
    """Sign new artifacts with a new key. Existing artifacts can still be deployed."""
    from stead.control.provisioning import rotate_signing_key

    typer.echo(asyncio.run(rotate_signing_key()))


@artifacts.command("remove-key")
def remove_key(key: str) -> None:
    """Stop trusting a signing key. Artifacts that it signed can no longer be deployed."""
    from stead.control.provisioning import remove_signing_key

    if not asyncio.run(remove_signing_key(key)):
        typer.echo("there is no such key", err=True)
        raise typer.Exit(1)


@artifacts.command("collect")
def collect_artifacts() -> None:
    """Remove artifacts and blobs that are no longer used, as workers do every few minutes."""
    from stead.control.provisioning import collect_artifacts as collect

    removed, blobs = asyncio.run(collect())
    typer.echo(f"{removed} artifacts and {blobs} blobs were removed")


def main() -> None:
    app()


if __name__ == "__main__":
    main()
