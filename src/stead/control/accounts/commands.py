"""`steadctl accounts`: the command line for what operators do with accounts."""

import asyncio
import json
import secrets
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

import typer

app = typer.Typer(no_args_is_help=True, help="Create, show, suspend and change accounts.")

T = TypeVar("T")
AccountName = Annotated[str, typer.Argument(help="The id or the email address of the account.")]


@app.command("create")
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


@app.command("list")
def list_accounts(
    query: Annotated[str, typer.Argument(help="A part of an email address or a name.")] = "",
    most: Annotated[int, typer.Option(help="The maximum number of accounts.", min=1)] = 50,
) -> None:
    """Show the newest accounts, with their plan, their state and the number of their sites."""
    from stead.control.accounts.administration import account_table

    typer.echo(asyncio.run(account_table(query, most)))


@app.command("show")
def show_account(account: AccountName) -> None:
    """Show an account with its teams and sites."""
    from stead.control.accounts.administration import describe_account

    typer.echo(_run_for_account(describe_account(account)))


@app.command("suspend")
def suspend_account(
    account: AccountName,
    *,
    reason: Annotated[str, typer.Option(help="For `accounts show` and the audit trail.")] = "",
    lift: Annotated[bool, typer.Option(help="End the suspension.")] = False,
) -> None:
    """Refuse the credentials of an account, and answer visitors of its own sites with 503. Sites of teams
    stay. Needs the settings of a worker; can be repeated."""
    from stead.control.accounts.administration import lift_suspension
    from stead.control.accounts.administration import suspend_account as suspend

    if bool(reason) == lift:
        raise typer.BadParameter("give either --reason or --lift")
    sites = _run_for_account(lift_suspension(account) if lift else suspend(account, reason))
    typer.echo(f"{sites} sites were announced")


@app.command("reset-password")
def reset_account_password(account: AccountName) -> None:
    """Give an account a random password, end its sessions, and print the password. It is not shown again."""
    from stead.control.accounts.administration import reset_password

    typer.echo(_run_for_account(reset_password(account)))


@app.command("plan")
def set_account_plan(account: AccountName, plan: str) -> None:
    """Change the plan of an account. The teams that it has created keep theirs."""
    from stead.control.accounts.administration import set_plan

    _run_for_account(set_plan(account, plan))


@app.command("reopen")
def reopen_account(account: AccountName) -> None:
    """Open an account again that was closed less than thirty days ago. Its owner can recover its sites."""
    from stead.control.accounts.administration import reopen_account as reopen

    if not _run_for_account(reopen(account)):
        typer.echo("the account is not closed, or is erased already", err=True)
        raise typer.Exit(1)


def _run_for_account(work: Coroutine[Any, Any, T]) -> T:
    from stead.control.accounts.administration import UnknownAccount, UnknownPlan

    try:
        return asyncio.run(work)
    except (UnknownAccount, UnknownPlan) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
