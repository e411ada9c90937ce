"""`stead fn dev`."""

import re
from importlib.util import find_spec
from pathlib import Path

import click

from stead_cli.commands.functions import find_source
from stead_cli.failures import CliError
from stead_cli.session import Command, Session

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def _dev(
    session: Session,
    path: str,
    port: int,
    kv: tuple[str, ...],
    coord: tuple[str, ...],
    fetch: tuple[str, ...],
    var: tuple[str, ...],
    env_file: str | None,
    memory_mb: int,
    wall_ms: int,
) -> None:
    source = find_source(Path(path), ("function.wasm",))
    if find_spec("wasmtime") is None or find_spec("msgspec") is None:
        raise CliError(
            "The package wasmtime is not installed; it runs functions.",
            code="runtime.missing",
            fix="Install stead-cli[functions], for example: uv tool install 'stead-cli[functions]'",
        )
    from stead_cli.function_server import FunctionServer, Limits
    from stead_cli.function_state import LocalState

    bindings = {**dict.fromkeys(kv, "kv"), **dict.fromkeys(coord, "coord")}
    if fetch:
        bindings["FETCH"] = "fetch"
    variables = {**(_read_variables(Path(env_file)) if env_file else {}), **dict(map(_split, var))}
    for name in (*bindings, *variables):
        if not _NAME.fullmatch(name):
            raise click.UsageError(f"{name!r} is no name of a variable.")
    server = FunctionServer(source, variables, LocalState(bindings, fetch), Limits(memory_mb, wall_ms))
    with server.listen(port) as listening:
        server.refresh()
        url = f"http://localhost:{listening.getsockname()[1]}/"
        session.show({"url": url} if session.as_json else url)
        session.say("It is built again when a file changes. Ctrl-C ends it.")
        server.serve(listening)


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{name!r} has no value: NAME=VALUE.")
    return name, value


def _read_variables(file: Path) -> dict[str, str]:
    """Lines with NAME=VALUE; a value may be in quotes."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CliError(f"{file} cannot be read: {reason}", exit_code=2) from None
    kept = [line.strip().removeprefix("export ") for line in lines]
    pairs = [_split(line) for line in kept if line and not line.startswith("#")]
    return {name.strip(): _unquote(value.strip()) for name, value in pairs}


def _unquote(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


dev = Command(
    "dev",
    callback=_dev,
    params=[
        click.Argument(["path"], default=".", type=click.Path()),
        click.Option(["--port"], type=click.IntRange(0, 65535), default=8787, show_default=True),
        click.Option(["--kv"], multiple=True, metavar="NAME", help="A binding for keys and values."),
        click.Option(["--coord"], multiple=True, metavar="NAME", help="A binding for locks and counters."),
        click.Option(["--fetch"], multiple=True, metavar="HOST", help="A host that it may reach."),
        click.Option(["--var"], multiple=True, metavar="NAME=VALUE", help="A variable."),
        click.Option(["--env-file"], metavar="FILE", help="Variables and secrets, one in each line."),
        click.Option(["--memory-mb"], type=click.IntRange(1, 512), default=64, show_default=True),
        click.Option(["--wall-ms"], type=click.IntRange(1, 30_000), default=1000, show_default=True),
    ],
    help="Run a function on this machine, with what runs it on a node. Its state is in memory. Needs"
    " stead-cli[functions], and the compiler of its language.",
)
