"""`steadctl images`: makes and lists the images that builds run in."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from stead.node.images.image_store import Image, ImageStore
from stead.node.images.recipe import NAMES, ImageUnavailable, recipe

STARTED = "making it; this takes about a minute"

app = typer.Typer(no_args_is_help=True, help="The images that builds run in.")


@app.command()
def build(name: Annotated[str, typer.Argument(help="Which one.")] = NAMES[0]) -> None:
    """Make an image unless it exists, and print where it is. Takes about a minute the first time."""
    try:
        image = ImageStore().ensure(name, lambda: typer.echo(STARTED, err=True))
    except ImageUnavailable as error:
        typer.echo(f"steadctl images: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(_line(image))


@app.command("list")
def show() -> None:
    """List the images of this machine. A star marks the one that builds use."""
    for image in ImageStore().list_images():
        typer.echo(_line(image))


def _line(image: Image) -> str:
    metadata = image.metadata
    made = datetime.fromtimestamp(metadata.made_at, UTC)
    used = "*" if metadata.recipe == recipe(metadata.name).digest else " "
    return (
        f"{used} {metadata.name}  {metadata.digest}  {metadata.bytes / 1e6:.0f} MB"
        f"  made {made:%Y-%m-%d %H:%M} in {metadata.seconds:.0f} s  {image.root}"
    )
