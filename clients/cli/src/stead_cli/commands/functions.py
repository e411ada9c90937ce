"""`stead fn new`, `stead fn deploy` and `stead fn logs`."""

import re
from pathlib import Path

import click

from stead_cli.commands.logs import log_command
from stead_cli.failures import CliError
from stead_cli.function_deployment import follow_build
from stead_cli.function_languages import LANGUAGES, TEMPLATES
from stead_cli.session import Command, Session
from stead_sdk import OMIT

_NAMES = (
    *("function.ts", "function.js", "index.ts", "index.js", "main.rs", "main.go", "main.c", "main.zig"),
    *("function.rs", "lib.rs", "function.go", "function.c", "function.zig"),
)
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _new(session: Session, name: str, language: str, typescript: bool) -> None:
    _require_slug(name)
    ending, text = TEMPLATES["typescript" if typescript else language]
    folder, file = Path(name), f"function.{ending}"
    if (folder / file).exists():
        raise CliError(f"{folder / file} exists already.", code="file.exists", exit_code=7)
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    session.say(f"Publish it with: stead fn deploy {name}")
    session.show({"file": str(folder / file)} if session.as_json else str(folder / file))


def _deploy(session: Session, path: str, name: str | None, route: str | None) -> None:
    file = find_source(Path(path))
    slug = name or (file.parent.resolve().name if file.name in _NAMES else file.stem)
    _require_slug(slug)
    client, source = session.client, _read_source(file)
    site = client.sites.get(session.site_id)
    known = [each for each in client.functions.list_for_site(site.id) if each.slug == slug]
    if known:
        if route is not None and route != known[0].route_path:
            client.functions.update(known[0].id, route_path=route)
        function = known[0]
        job = client.functions.build(function.id, source=source, filename=file.name, auto_deploy=True).id
    else:
        function = client.functions.create(
            site_id=site.id,
            slug=slug,
            display_name=slug,
            language=LANGUAGES[file.suffix],
            source=source,
            filename=file.name,
            auto_deploy=True,
            route_path=OMIT if route is None else route,
        )
        job = str(function.last_build_job_id)
    function = follow_build(session, function, job)
    session.say(f"Live: {function.url}")
    session.show(function.to_dict() if session.as_json else function.url)


def _read_source(file: Path) -> str:
    try:
        if file.suffix in LANGUAGES:
            return file.read_text(encoding="utf-8")
        problem = f"{file.name} is in no language of functions."
    except OSError as error:
        problem = f"{file} cannot be read: {error.strerror}."
    except ValueError:
        problem = f"{file} is not text."
    raise CliError(
        problem,
        code="usage",
        fix="Functions are built where they run: give their source, not a compiled file.",
        exit_code=2,
    )


def find_source(path: Path, also: tuple[str, ...] = ()) -> Path:
    if path.is_file():
        return path
    for name in (*_NAMES, *also):
        if (path / name).is_file():
            return path / name
    raise CliError(
        f"{path} has no source of a function.",
        code="usage",
        fix=f"Give a file, or a folder with one of: {', '.join(_NAMES[:8])}.",
        exit_code=2,
    )


def _require_slug(name: str) -> None:
    if not _SLUG.fullmatch(name):
        raise click.UsageError(f"{name!r} is no name of a function: use small letters, digits and hyphens.")


new = Command(
    "new",
    callback=_new,
    params=[
        click.Argument(["name"]),
        click.Option(
            ["--language"], type=click.Choice(sorted(TEMPLATES)), default="javascript", show_default=True
        ),
        click.Option(["--typescript", "--ts"], is_flag=True, help="The same as --language typescript."),
    ],
    help="Write the source of a new function to a folder.",
)
deploy = Command(
    "deploy",
    callback=_deploy,
    params=[
        click.Argument(["path"], default=".", type=click.Path()),
        click.Option(["--name"], help="The name of the function; by default that of the folder."),
        click.Option(["--route"], metavar="PATH", help="The path that it answers; by default /_fn/NAME."),
    ],
    site=True,
    help="Build and deploy a function from one source file. Prints only the URL on stdout.",
)
logs = log_command("Show what the functions of a site have logged, oldest first.", container="functions")
