"""`steadctl dev`: runs the engines and Stead's programs on this machine."""

import asyncio
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stead.dev import logs as log_files
from stead.dev import secrets as secrets_file
from stead.dev.build_image import ensure_build_image
from stead.dev.child_process import ChildState
from stead.dev.data_directory import DataDirectory
from stead.dev.documents import debian_packages
from stead.dev.engines import ENGINES
from stead.dev.errors import DevError
from stead.dev.image_progress import watch_images
from stead.dev.local_node import NODE_PROGRAM
from stead.dev.orphaned_processes import all_exited, stop_orphans
from stead.dev.programs import Api
from stead.dev.running_stack import AlreadyRunning, RunningStack, prepare_stack
from stead.dev.stack import ALL_PROGRAMS, Stack
from stead.dev.status_display import StatusDisplay, print_access_details, status_table
from stead.protocol.subjects import Program

NOT_RUNNING = 3
STOP_TIMEOUT = 60.0
NAMES = [kind.name for kind in ALL_PROGRAMS]


def _parse_name(name: str) -> str:
    if name not in NAMES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(NAMES)}")
    return name


app = typer.Typer(no_args_is_help=True, help="Run the engines, the API, a worker and a node on this machine.")

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="The data directory. Default: $STEAD_DATA, or a directory of the current user."
    ),
]


@app.command()
def up(
    data: Data = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            parser=_parse_name,
            metavar="NAME",
            help=f"Start only this engine or program; can be repeated. One of {', '.join(NAMES)}.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="STEAD_…=VALUE", help="A setting of Stead's programs; can be repeated."
        ),
    ] = None,
) -> None:
    """Start everything, restart what crashes, and stop everything on Ctrl-C."""
    directory = DataDirectory(data or DataDirectory.default())
    try:
        asyncio.run(_up(directory, set(only or NAMES), _parse_settings(settings or [])))
    except AlreadyRunning:
        _print_status(directory)
    except DevError as failure:
        typer.echo(f"steadctl dev: {failure}", err=True)
        raise typer.Exit(1) from None


@app.command()
def down(data: Data = None) -> None:
    """Stop what `up` started, from another terminal or after a crash."""
    directory = DataDirectory(data or DataDirectory.default())
    if not asyncio.run(_down(directory)):
        typer.echo("steadctl dev: a process did not stop; see steadctl dev status", err=True)
        raise typer.Exit(1)


@app.command()
def env(
    data: Data = None,
    *,
    operator: Annotated[
        bool, typer.Option(help="Also print the settings for commands such as steadctl nodes list.")
    ] = False,
) -> None:
    """Print shell variables for trying out the API: eval "$(steadctl dev env)"."""
    directory = DataDirectory(data or DataDirectory.default())
    account = secrets_file.load(directory.secrets).account
    if account is None or not directory.load_record().is_running():
        typer.echo(f"steadctl dev: nothing runs from {directory.path}", err=True)
        raise typer.Exit(NOT_RUNNING)
    stack = Stack.attach(directory.path)
    settings = stack.environment(Program.WORKER, ENGINES) if operator else {}
    for name, value in (settings | stack.shell_variables()).items():
        typer.echo(f"export {name}={shlex.quote(value)}")


@app.command()
def status(data: Data = None) -> None:
    """Show what runs. Exits with 0 if everything is ready, and with 3 otherwise."""
    if not _print_status(DataDirectory(data or DataDirectory.default())):
        raise typer.Exit(NOT_RUNNING)


@app.command()
def logs(
    program: Annotated[
        str | None,
        typer.Argument(parser=_parse_name, metavar="NAME", help="Only the log of this engine or program."),
    ] = None,
    data: Data = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines.")] = False,
    lines: Annotated[int, typer.Option(help="The number of last lines to print.")] = 50,
) -> None:
    """Print the logs."""
    directory = DataDirectory(data or DataDirectory.default())
    chosen = sorted(directory.logs.glob(f"{program or '*'}.log"))
    if not chosen:
        typer.echo(f"steadctl dev: there are no logs in {directory.logs}", err=True)
        raise typer.Exit(1)
    log_files.print_tails(chosen, lines, typer.echo)
    if follow:
        try:
            log_files.follow(chosen, typer.echo)
        except KeyboardInterrupt:
            return


@app.command()
def packages() -> None:
    """Print the Debian packages that the engines and programs need, as in packages.txt."""
    for package in debian_packages():
        typer.echo(package)


def _parse_settings(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, equals, _ in pairs:
        if not name.startswith("STEAD_") or not equals:
            raise DevError(f"--set takes STEAD_…=VALUE, not {name}{equals}")
    return {name: value for name, _, value in pairs}


async def _up(directory: DataDirectory, names: set[str], settings: dict[str, str]) -> None:
    stop_requested = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    console = Console(file=sys.stdout)
    kinds = [kind for kind in ALL_PROGRAMS if kind.name in names]
    with StatusDisplay(console) as display:
        async with prepare_stack(
            directory.path, kinds, durable=True, on_change=display.on_change, settings=settings
        ) as stack:
            display.show(lambda: stack.supervisor.statuses)
            stack.prepare_node = lambda: ensure_build_image(display.print_line)
            if await _start_unless_stopped(stack, stop_requested):
                account = stack.secrets.account
                if Api in kinds and account is not None:
                    print_access_details(console, stack.ports, account, "Ctrl-C, or steadctl dev down")
                node_log = directory.logs / f"{NODE_PROGRAM}.log"
                watching = asyncio.create_task(watch_images(node_log, display.print_line))
                await stop_requested.wait()
                watching.cancel()


async def _start_unless_stopped(stack: RunningStack, stop_requested: asyncio.Event) -> bool:
    """Returns whether everything was started before the user asked to stop."""
    start = asyncio.create_task(_start(stack))
    stop = asyncio.create_task(stop_requested.wait())
    await asyncio.wait({start, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not start.done():
        start.cancel()
        await asyncio.wait({start})
        return False
    stop.cancel()
    start.result()
    return True


async def _start(stack: RunningStack) -> None:
    await stack.supervisor.read_versions()
    await stack.supervisor.start()


async def _down(directory: DataDirectory) -> bool:
    """Returns whether all processes of the stack have exited."""
    record = directory.load_record()
    children = [child.process for child in record.children if child.process is not None]
    supervisor = record.supervisor
    if supervisor is not None and supervisor.send_signal(signal.SIGTERM):
        if not await all_exited([supervisor, *children], STOP_TIMEOUT):
            supervisor.send_signal(signal.SIGKILL)
        typer.echo("stopped")
    orphans = await stop_orphans(directory)
    if orphans:
        typer.echo(f"stopped processes that a crash had left behind: {', '.join(orphans)}")
    return await all_exited(children, 0.1)


def _print_status(directory: DataDirectory) -> bool:
    """Prints what runs and how to use it. Returns whether everything is ready."""
    record = directory.load_record()
    if not record.is_running():
        typer.echo(f"nothing runs from {directory.path}")
        return False
    console = Console(file=sys.stdout)
    console.print(f"from {directory.path}", style="dim", highlight=False, soft_wrap=True)
    console.print(status_table(record.children))
    account = secrets_file.load(directory.secrets).account
    ready = {
        child.name
        for child in record.children
        if child.state is ChildState.READY and child.process and child.process.is_alive()
    }
    if account is not None and Api.name in ready:
        print_access_details(console, record.ports, account, "steadctl dev down")
    return len(ready) == len(record.children) > 0
