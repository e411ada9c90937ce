"""`steadctl keys`: commands for operators, about sealing keys."""

import asyncio

import typer

app = typer.Typer(no_args_is_help=True, help="Manage the keys that encrypt secrets at rest.")


@app.command("rotate")
def rotate_sealing_key() -> None:
    """Seal every stored secret with the first key of STEAD_SEALING_KEY, while the system runs."""
    from stead.control.provisioning import reseal_all

    async def report() -> None:
        async for line in reseal_all():
            typer.echo(line)

    asyncio.run(report())
