"""`steadctl insights`: commands for operators, about data of sites, and logs and metrics of Stead."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(help="What nodes have recorded about sites.")


@app.callback(invoke_without_command=True)
def show_insights(context: typer.Context) -> None:
    """Show what nodes have sent about their sites: how far it is complete, what waits, what was lost, and
    how much is stored. Needs the settings of a worker."""
    from stead.control.provisioning import insights_status

    if context.invoked_subcommand is None:
        typer.echo(asyncio.run(insights_status()))


@app.command("logs")
def show_platform_logs(
    hours: Annotated[int, typer.Option(min=1, max=720, help="How far to look back.")] = 1,
    program: Annotated[str, typer.Option(help="Only of this program: api, worker or node.")] = "",
    instance: Annotated[str, typer.Option(help="Only of this node or process.")] = "",
    level: Annotated[str, typer.Option(help="Only of this level: info, warning or error.")] = "",
    event: Annotated[str, typer.Option(help="Only with this event name.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest ones.")] = 200,
) -> None:
    """Show what the API, workers and nodes have logged. It has no data of tenants: the logs of the programs
    themselves have more. Needs the settings of a worker."""
    from stead.control.provisioning import InsightsUnavailable, platform_logs

    try:
        typer.echo(asyncio.run(platform_logs(hours, program, instance, level, event, limit)))
    except InsightsUnavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@app.command("metrics")
def show_platform_metrics(
    name: Annotated[str, typer.Argument(help="How the names of the metrics begin.")] = "stead_",
    hours: Annotated[int, typer.Option(min=1, max=720, help="How far to look back.")] = 1,
) -> None:
    """Show the metrics of the API, workers and nodes: the last, least and greatest value of each series.
    Needs the settings of a worker."""
    from stead.control.provisioning import InsightsUnavailable, platform_metrics

    try:
        typer.echo(asyncio.run(platform_metrics(name, hours)))
    except InsightsUnavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@app.command("erase")
def erase_insights(site: str) -> None:
    """Delete everything that was recorded about the visitors of a site. What its node has not sent yet still
    arrives; run it again a few minutes later."""
    from stead.control.provisioning import InsightsNotErased, erase_insights

    try:
        asyncio.run(erase_insights(site))
    except InsightsNotErased as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{site}: deleted")
