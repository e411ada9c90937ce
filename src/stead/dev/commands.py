"""`steadctl dev`: the engines and our programs on this machine, from nothing to a working curl line."""

import asyncio
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stead.dev import logs as log_files
from stead.dev import secrets as secrets_file
from stead.dev.child import State
from stead.dev.directory import DataDirectory
from stead.dev.display import Screen, greet, table
from stead.dev.engine import LOOPBACK, DevError
from stead.dev.images import ensure_image
from stead.dev.leftovers import gone, sweep
from stead.dev.programs import Api
from stead.dev.running import AlreadyRunning, RunningStack, supervised
from stead.dev.stack import EVERY, PROGRAMS

NOT_UP = 3
STOP_BOUND = 60.0

app = typer.Typer(no_args_is_help=True, help="Run the engines, the API, a worker and a node on this machine.")


class Name(StrEnum):
    POSTGRES = "postgres"
    REDIS = "redis"
    NATS = "nats"
    TEMPORAL = "temporal"
    SEAWEEDFS = "seaweedfs"
    NGINX = "nginx"
    DNS = "dns"
    PEBBLE = "pebble"
    API = "api"
    WORKER = "worker"
    NODE = "node"


Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Where everything is kept. Default: $STEAD_DATA, or a directory of this user."
    ),
]


@app.command()
def up(
    data: Data = None,
    only: Annotated[
        list[Name] | None, typer.Option(help="Start only these; may be given several times.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="STEAD_…=VALUE", help="A setting of our programs; several times."),
    ] = None,
) -> None:
    """Start everything, watch over it, and stop it all on Ctrl-C."""
    directory = DataDirectory(data or DataDirectory.default())
    try:
        asyncio.run(_up(directory, {name.value for name in only or Name}, _settings(settings or [])))
    except AlreadyRunning:
        _show(directory)
    except DevError as failure:
        typer.echo(f"steadctl dev: {failure}", err=True)
        raise typer.Exit(1) from None


@app.command()
def down(data: Data = None) -> None:
    """Stop what `up` started, from another terminal or after a crash."""
    directory = DataDirectory(data or DataDirectory.default())
    if not asyncio.run(_down(directory)):
        typer.echo("steadctl dev: something did not stop; see steadctl dev status", err=True)
        raise typer.Exit(1)


@app.command()
def env(data: Data = None) -> None:
    """Print shell variables for trying the API out: eval "$(steadctl dev env)"."""
    directory = DataDirectory(data or DataDirectory.default())
    record, account = directory.record(), secrets_file.load(directory.secrets).account
    if account is None or not record.alive():
        typer.echo(f"steadctl dev: nothing runs from {directory.path}", err=True)
        raise typer.Exit(NOT_UP)
    typer.echo(f"export STEAD_API_KEY={account.api_key}")
    typer.echo(f"export STEAD_BASE_URL=http://{LOOPBACK}:{record.ports['api']}")
    typer.echo(f"export STEAD_EDGE=http://{LOOPBACK}:{record.ports['edge']}")
    typer.echo(f"export STEAD_EDGE_TLS={LOOPBACK}:{record.ports['edge_tls']}")


@app.command()
def status(data: Data = None) -> None:
    """Show what runs; exits with 0 when all of it serves and with 3 when not."""
    if not _show(DataDirectory(data or DataDirectory.default())):
        raise typer.Exit(NOT_UP)


@app.command()
def logs(
    engine: Annotated[Name | None, typer.Argument(help="Of one engine only.")] = None,
    data: Data = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is added.")] = False,
    lines: Annotated[int, typer.Option(help="How many of the last lines.")] = 50,
) -> None:
    """Print the engines' logs."""
    directory = DataDirectory(data or DataDirectory.default())
    chosen = sorted(directory.logs.glob(f"{engine.value if engine else '*'}.log"))
    if not chosen:
        typer.echo(f"steadctl dev: there are no logs in {directory.logs}", err=True)
        raise typer.Exit(1)
    log_files.show(chosen, lines, typer.echo)
    if follow:
        try:
            log_files.follow(chosen, typer.echo)
        except KeyboardInterrupt:
            return


def _settings(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, equals, _ in pairs:
        if not name.startswith("STEAD_") or not equals:
            raise DevError(f"--set takes STEAD_…=VALUE, not {name}{equals}")
    return {name: value for name, _, value in pairs}


async def _up(directory: DataDirectory, names: set[str], settings: dict[str, str]) -> None:
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    console = Console(file=sys.stdout)
    kinds = [kind for kind in (*EVERY, *PROGRAMS) if kind.name in names]
    with Screen(console) as screen:
        async with supervised(
            directory.path, kinds, durable=True, changed=screen.changed, settings=settings
        ) as stack:
            screen.follow(lambda: stack.supervisor.conditions)
            stack.before_node = lambda: ensure_image(screen.note)
            if await _started(stack, asked):
                if Api in kinds and stack.secrets.account is not None:
                    greet(console, stack.api.url, stack.secrets.account, "Ctrl-C, or steadctl dev down")
                await asked.wait()


async def _started(stack: RunningStack, asked: asyncio.Event) -> bool:
    """Whether everything came up before somebody asked to stop."""
    starting = asyncio.create_task(_start(stack))
    asking = asyncio.create_task(asked.wait())
    await asyncio.wait({starting, asking}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
        return False
    asking.cancel()
    starting.result()
    return True


async def _start(stack: RunningStack) -> None:
    await stack.supervisor.identify()
    await stack.supervisor.start()


async def _down(directory: DataDirectory) -> bool:
    """Whether nothing of the stack runs any more."""
    record = directory.record()
    family = [it.process for it in record.children if it.process is not None]
    supervisor = record.supervisor
    if supervisor is not None and supervisor.send(signal.SIGTERM):
        if not await gone([supervisor, *family], STOP_BOUND):
            supervisor.send(signal.SIGKILL)
        typer.echo("stopped")
    left = await sweep(directory)
    if left:
        typer.echo(f"ended what a crash had left: {', '.join(left)}")
    return await gone(family, 0.1)


def _show(directory: DataDirectory) -> bool:
    """Prints what runs and how to use it; whether all of it serves."""
    record = directory.record()
    if not record.alive():
        typer.echo(f"nothing runs from {directory.path}")
        return False
    console = Console(file=sys.stdout)
    console.print(f"from {directory.path}", style="dim", highlight=False, soft_wrap=True)
    console.print(table(record.children))
    account = secrets_file.load(directory.secrets).account
    serving = {
        it.name for it in record.children if it.state is State.READY and it.process and it.process.alive()
    }
    if account is not None and Api.name in serving:
        greet(console, f"http://{LOOPBACK}:{record.ports['api']}", account, "steadctl dev down")
    return len(serving) == len(record.children) > 0
