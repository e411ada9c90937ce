"""`steadctl artifacts`: commands for operators, about artifacts and signing keys."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Manage artifacts and the keys that sign them.")


@app.command("list")
def list_artifacts(most: Annotated[int, typer.Option(help="The maximum number of artifacts.")] = 50) -> None:
    """Show the newest artifacts of all sites."""
    from stead.control.provisioning import artifact_table

    typer.echo(asyncio.run(artifact_table(most)))


@app.command("export")
def export_artifact(artifact: str, directory: Path) -> None:
    """Write an artifact as an OCI layout, together with its signature envelope and the signing key."""
    from stead.control.provisioning import export_artifact as export

    try:
        typer.echo(asyncio.run(export(artifact, directory)))
    except (LookupError, FileExistsError) as error:
        typer.echo(str(error.args[0]), err=True)
        raise typer.Exit(1) from None


@app.command("rotate-key")
def rotate_key() -> None:
    """Sign new artifacts with a new key. Existing artifacts can still be deployed."""
    from stead.control.provisioning import rotate_signing_key

    typer.echo(asyncio.run(rotate_signing_key()))


@app.command("remove-key")
def remove_key(key: str) -> None:
    """Stop trusting a signing key. Artifacts that it signed can no longer be deployed."""
    from stead.control.provisioning import remove_signing_key

    if not asyncio.run(remove_signing_key(key)):
        typer.echo("there is no such key", err=True)
        raise typer.Exit(1)


@app.command("collect")
def collect_artifacts() -> None:
    """Remove artifacts and blobs that are no longer used, as workers do every few minutes."""
    from stead.control.provisioning import collect_artifacts as collect

    removed, blobs = asyncio.run(collect())
    typer.echo(f"{removed} artifacts and {blobs} blobs were removed")
