"""`steadctl`: how an operator runs the programs of Stead."""

import asyncio
import json
import secrets as random
from pathlib import Path
from typing import Annotated

import typer

from stead.dev.commands import app as dev
from stead.node.images.commands import app as images

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
accounts = typer.Typer(no_args_is_help=True, help="Accounts of this installation.")
nodes = typer.Typer(no_args_is_help=True, help="The nodes of this cell.")
app.add_typer(dev, name="dev")
app.add_typer(images, name="images")
app.add_typer(accounts, name="accounts")
app.add_typer(nodes, name="nodes")
artifacts = typer.Typer(no_args_is_help=True, help="Artifacts, and the keys that vouch for them.")
app.add_typer(artifacts, name="artifacts")


@app.command()
def api() -> None:
    """Serve the HTTP API, as the STEAD_* settings say."""
    from stead.control.serving import serve

    serve()


@app.command()
def worker() -> None:
    """Run jobs, hear nodes, send mail, as the STEAD_* settings say."""
    from stead.control.serving import work

    work()


@app.command()
def node() -> None:
    """Carry sites on this machine, as the STEAD_NODE_* settings say."""
    from stead.node.main import run

    run()


@app.command()
def edge() -> None:
    """Serve the sites of this node's region, as the STEAD_EDGE_* settings say. Becomes nginx."""
    from stead.edge.main import run

    run()


@app.command()
def announce() -> None:
    """Tell the edges again all that the database knows of sites; needs the worker's settings."""
    from stead.control.provisioning import announce_everything

    def told(count: int) -> None:
        typer.echo(f"{count} sites so far", err=True)

    typer.echo(f"{asyncio.run(announce_everything(told))} sites were announced")


@app.command()
def migrate() -> None:
    """Bring the database to this version of Stead."""
    from stead.control.engines.migrations import migrate as upgrade
    from stead.control.settings import from_environment

    upgrade(from_environment().database_url)


@app.command()
def openapi() -> None:
    """Print the API description. Needs no engine."""
    from stead.control.documents import description

    typer.echo(description(), nl=False)


@app.command()
def generate(
    root: Annotated[Path, typer.Argument(help="A checkout of Stead.")] = Path(),
    *,
    check: Annotated[bool, typer.Option(help="Compare instead of writing.")] = False,
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
    with_key: Annotated[bool, typer.Option(help="Also mint an API key with every scope.")] = False,
) -> None:
    """Open an account with a random password and print its secrets, once, as JSON."""
    from stead.control.provisioning import open_account
    from stead.shared.errors import ApiError

    password = random.token_urlsafe(18)
    try:
        made = asyncio.run(open_account(email, name, plan, password, with_key=with_key))
    except ApiError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(json.dumps(made))


@nodes.command("list")
def list_nodes() -> None:
    """Show every node: region, room, when it was last heard of."""
    from stead.control.provisioning import node_table

    typer.echo(asyncio.run(node_table()))


@nodes.command("show")
def show_node(node: str) -> None:
    """Show one node, and how far its edge has come with what it was told."""
    from stead.control.provisioning import edge_progress, node_table

    typer.echo(asyncio.run(node_table(node)))
    typer.echo(asyncio.run(edge_progress(node)))


@nodes.command("drain")
def drain_node(
    node: str, *, undo: Annotated[bool, typer.Option(help="Let it take new sites again.")] = False
) -> None:
    """Put nothing new on a node; what it carries stays."""
    from stead.control.provisioning import drain

    asyncio.run(drain(node, draining=not undo))


@nodes.command("key")
def region_key(region: str) -> None:
    """Print the key of a region's edges, which its nodes need as STEAD_EDGE_KEY to serve certificates."""
    from stead.control.provisioning import edge_key
    from stead.shared.edge_keys import KeyUnusable

    try:
        typer.echo(edge_key(region))
    except KeyUnusable as error:
        typer.echo(f"STEAD_EDGE_MASTER_KEY: {error}", err=True)
        raise typer.Exit(1) from None


@artifacts.command("list")
def list_artifacts(most: Annotated[int, typer.Option(help="How many.")] = 50) -> None:
    """Show the newest artifacts of all sites."""
    from stead.control.provisioning import artifact_table

    typer.echo(asyncio.run(artifact_table(most)))


@artifacts.command("export")
def export_artifact(artifact: str, directory: Path) -> None:
    """Write an artifact as an OCI layout, with its envelope and the key that signed it beside."""
    from stead.control.provisioning import export_artifact as export

    try:
        typer.echo(asyncio.run(export(artifact, directory)))
    except (LookupError, FileExistsError) as error:
        typer.echo(str(error.args[0]), err=True)
        raise typer.Exit(1) from None


@artifacts.command("rotate-key")
def rotate_key() -> None:
    """Sign with a new key from now on; what was signed before can still be deployed."""
    from stead.control.provisioning import rotate_signing_key

    typer.echo(asyncio.run(rotate_signing_key()))


@artifacts.command("remove-key")
def remove_key(key: str) -> None:
    """Believe a key no more: nothing that it signed can be deployed again."""
    from stead.control.provisioning import remove_signing_key

    if not asyncio.run(remove_signing_key(key)):
        typer.echo("there is no such key", err=True)
        raise typer.Exit(1)


@artifacts.command("collect")
def collect_artifacts() -> None:
    """Remove what nothing uses any more, as the workers do every few minutes."""
    from stead.control.provisioning import collect_artifacts as collect

    gone, blobs = asyncio.run(collect())
    typer.echo(f"{gone} artifacts and {blobs} blobs were removed")


def main() -> None:
    app()


if __name__ == "__main__":
    main()
