"""`steadctl images`: making and showing the images that builds run in."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from stead.node.images.recipe import NAMES, NoImage, recipe
from stead.node.images.shelf import Image, Shelf

BEGUN = "making it; this takes about a minute"

app = typer.Typer(no_args_is_help=True, help="The images that builds run in.")


@app.command()
def build(name: Annotated[str, typer.Argument(help="Which one.")] = NAMES[0]) -> None:
    """Make an image unless it is there; prints where it is. Takes about a minute the first time."""
    try:
        image = Shelf().ensure(name, lambda: typer.echo(BEGUN, err=True))
    except NoImage as error:
        typer.echo(f"steadctl images: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(_line(image))


@app.command("list")
def show() -> None:
    """Show the images of this machine; the one that builds use is marked."""
    for image in Shelf().listed():
        typer.echo(_line(image))


def _line(image: Image) -> str:
    label = image.label
    made = datetime.fromtimestamp(label.made_at, UTC)
    used = "*" if label.recipe == recipe(label.name).digest else " "
    return (
        f"{used} {label.name}  {label.digest}  {label.bytes / 1e6:.0f} MB"
        f"  made {made:%Y-%m-%d %H:%M} in {label.seconds:.0f} s  {image.root}"
    )
