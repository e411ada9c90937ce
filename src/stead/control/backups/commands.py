"""`steadctl backups`: commands for operators, about backups."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Show, maintain and recover the backups of sites.")


@app.command("status")
def backup_status() -> None:
    """Show how the last backups ended, sites without a recent one, repositories with a problem or without
    maintenance, and what is not in the second store. Exits with 1 if there is any of these. Needs the
    settings of a worker."""
    from stead.control.backups.operating import describe_backups

    text, has_findings = asyncio.run(describe_backups())
    typer.echo(text)
    if has_findings:
        raise typer.Exit(1)


@app.command("recover")
def recover_backups() -> None:
    """Copy all repositories and releases from the second store to the first one, and check them. Adds only
    what is missing, so it can be repeated. Exits with 1 if a site has a problem. Needs the settings of a
    worker."""
    from stead.control.backups.operating import recover_first_store
    from stead.control.backups.recovery import NoSecondStore

    try:
        is_complete = asyncio.run(recover_first_store(typer.echo))
    except NoSecondStore as error:
        typer.echo(f"steadctl backups recover: {error}", err=True)
        raise typer.Exit(1) from None
    if not is_complete:
        raise typer.Exit(1)


@app.command("restore-newest")
def restore_newest_snapshots(
    node: Annotated[str | None, typer.Option(help="Only environments on this node.")] = None,
) -> None:
    """Queue jobs that restore the newest snapshot of every WordPress environment that was on a lost node."""
    from stead.control.backups.recovery import restore_newest

    typer.echo(f"{asyncio.run(restore_newest(node))} environments are being restored")


@app.command("password")
def print_repository_password(site: str) -> None:
    """Print the password of a site's repository, for restic."""
    from stead.control.backups.recovery import read_password

    if (password := asyncio.run(read_password(site))) is None:
        typer.echo("the site has no repository", err=True)
        raise typer.Exit(1)
    typer.echo(password)


@app.command("maintain")
def maintain_repository(site: str) -> None:
    """Remove old snapshots of a site, check its repository and copy it, as workers do once a day."""
    from stead.control.backups.recovery import maintain_site

    if problem := asyncio.run(maintain_site(site)):
        typer.echo(problem, err=True)
        raise typer.Exit(1)


@app.command("repair")
def repair_repository(site: str) -> None:
    """Replace damaged files of a repository from the second store, remove those that cannot be replaced, and
    mark the snapshots that need them."""
    from stead.control.backups.recovery import REPAIR_FAILED, repair_site

    try:
        repaired = asyncio.run(repair_site(site))
    except REPAIR_FAILED as error:
        typer.echo(f"steadctl backups repair: {str(error) or type(error).__name__}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{repaired.replaced} files were replaced, {repaired.removed} were removed")
    for snapshot in repaired.lost:
        typer.echo(f"{snapshot} is lost")


@app.command("accept")
def accept_backup_problem(site: str) -> None:
    """Remove old snapshots of a site although something looked suspicious: you have found out why."""
    from stead.control.backups.recovery import accept_problem

    if not asyncio.run(accept_problem(site)):
        typer.echo(f"nothing looks suspicious at {site}", err=True)
        raise typer.Exit(1)
