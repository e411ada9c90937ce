"""`stead fn new`, `stead fn deploy` and `stead fn logs`."""

import re
from pathlib import Path

import click

from stead_cli.commands.logs import log_command
from stead_cli.failures import CliError
from stead_cli.follow import follow
from stead_cli.function_languages import LANGUAGES, TEMPLATES
from stead_cli.session import Command, Session
from stead_sdk import OMIT, types
from stead_sdk._sync.jobs import JobHandle

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
    (folder / file).write_text(text)
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
        handle = client.functions.build(known[0].id, source=source, filename=file.name, auto_deploy=True)
        function = known[0]
        follow(session, handle)
    else:
        function = client.functions.create(
            site_id=site.id,
            slug=slug,
            display_name=slug,
            source=source,
            filename=file.name,
            auto_deploy=True,
            route_path=OMIT if route is None else route,
        )
        _follow_job(session, function.last_build_job_id)
    function = _follow_deployment(session, function)
    session.say(f"Live: {function.url}")
    session.show(function.to_dict() if session.as_json else function.url)


def _read_source(file: Path) -> str:
    if file.suffix not in LANGUAGES:
        raise CliError(
            f"{file.name} is in no language of functions.",
            code="usage",
            fix="Functions are built where they run: give their source, not a compiled file.",
            exit_code=2,
        )
    return file.read_text()


def _follow_deployment(session: Session, function: types.Function) -> types.Function:
    """A build with `auto_deploy` starts another job when it ends."""
    jobs = session.client.jobs.list(site_id=function.site_id, resource_type="function", limit=20)
    for job in jobs.page().data:
        if function.id in (job.resource or {}).values():
            _follow_job(session, job.id)
            break
    return session.client.functions.get(function.id)


def _follow_job(session: Session, job_id: str | None) -> None:
    if job_id is not None:
        handle: JobHandle[types.Job] = JobHandle(
            session.client, session.client.jobs.get(job_id), lambda done: done
        )
        follow(session, handle)


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
logs = log_command("Show what the functions of a site have logged, oldest first.")
