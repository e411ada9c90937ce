"""`steadctl`: how an operator runs the programs of Stead."""

import asyncio
import json
import secrets as random
from pathlib import Path
from typing import Annotated

import typer

from stead.dev.commands import app as dev

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
accounts = typer.Typer(no_args_is_help=True, help="Accounts of this installation.")
app.add_typer(dev, name="dev")
app.add_typer(accounts, name="accounts")


@app.command()
def api() -> None:
    """Serve the HTTP API, as the STEAD_* settings say."""
    from stead.control.serving import serve

    serve()


@app.command()
def migrate() -> None:
    """Bring the database to this version of Stead."""
    from stead.control.platform.migrations import migrate as upgrade
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
    """Write what is generated from the declarations: API description, error pages, permission tables."""
    from stead.control import documents

    if not check:
        documents.write(root)
    elif stale := documents.stale(root):
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


def main() -> None:
    app()


if __name__ == "__main__":
    main()
