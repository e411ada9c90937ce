"""`steadctl images`: makes, lists and removes the images that customers' code runs in."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from stead.node.images.image_store import Image, ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.images.recipes import BUILDERS, NAMES

app = typer.Typer(no_args_is_help=True, help="The images that builds and sites run in.")


@app.command()
def build(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Which: {', '.join(NAMES)}. The image of builds if none.")
    ] = None,
    *,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make it again, with today's security updates.")
    ] = False,
) -> None:
    """Make images unless they exist, and print where they are. Each takes some minutes the first time."""
    for name in names or BUILDERS:
        try:
            image = ImageStore().ensure(name, _announce(name), fresh=fresh)
        except ImageUnavailable as error:
            typer.echo(f"steadctl images: {error}", err=True)
            raise typer.Exit(1) from None
        typer.echo(_line(image))


@app.command("list")
def show() -> None:
    """List the images of this machine. A star marks those that are used for new builds and sites."""
    for image in ImageStore().list_images():
        typer.echo(_line(image))


@app.command()
def prune() -> None:
    """Remove the images that a newer one has replaced and that no site and no agent uses."""
    for image in ImageStore().prune():
        typer.echo(f"removed {image.metadata.name}  {image.metadata.digest}")


def _announce(name: str) -> Callable[[], None]:
    return lambda: typer.echo(f"making {name}; this takes some minutes", err=True)


def _line(image: Image) -> str:
    metadata = image.metadata
    made = datetime.fromtimestamp(metadata.made_at, UTC)
    return (
        f"{'*' if ImageStore().is_current(image) else ' '} {metadata.name}  {metadata.digest}"
        f"  {metadata.bytes / 1e6:.0f} MB  made {made:%Y-%m-%d %H:%M} in {metadata.seconds:.0f} s"
        f"  {image.root}{f'  ({metadata.note})' if metadata.note else ''}"
    )
