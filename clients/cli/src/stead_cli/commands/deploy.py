"""`stead deploy`: pack, upload, build, deploy, follow."""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from stead_cli.failures import CliError
from stead_cli.follow import follow
from stead_cli.packing import pack
from stead_cli.session import Command, Session
from stead_sdk import errors, types
from stead_sdk._sync.jobs import JobHandle

_APPEARS_WITHIN = 30.0


def _deploy(
    session: Session,
    folder: str,
    prod: bool,
    message: str | None,
    builder: str | None,
    detach: bool,
    wait_timeout: float | None,
) -> None:
    root = Path(folder)
    if not root.is_dir():
        raise CliError(f"{folder} is not a folder.", code="usage", exit_code=2)
    site = session.client.sites.get(session.site_id)
    env = "production" if prod else session.env_id
    if message:
        session.say(f"Message: {message}")
    upload = _upload(session, site, root)
    handle = session.client.builds.create(
        site.id,
        env,
        builder=builder or ("cms" if site.runtime == "cms" else "static"),
        source=upload.id,
        auto_deploy=True,
    )
    if detach:
        session.show(handle.job.to_dict() if session.as_json else handle.id)
        return
    ends = None if wait_timeout is None else time.monotonic() + wait_timeout
    built = follow(session, handle, timeout=wait_timeout)
    deployed = _follow_deployment(session, site, env, built, ends)
    result = {**(built.result or {}), **(deployed.result or {}), "site_id": site.id}
    url = str(result.get("url") or _url_of(session, site, env))
    session.say(f"Live: {url}")
    session.show({**result, "url": url} if session.as_json else url)


def _upload(session: Session, site: types.Site, root: Path) -> types.Upload:
    descriptor, name = tempfile.mkstemp(suffix=".tar.gz", prefix="stead-")
    os.close(descriptor)
    archive = Path(name)
    try:
        try:
            packed = pack(root, archive)
        except OSError as error:
            raise CliError(
                f"{error.filename or root} cannot be packed: {error.strerror or error}",
                code="deploy.unreadable",
            ) from None
        if not packed.files:
            raise CliError(
                f"{root} contains no files to publish.",
                code="deploy.empty",
                fix="Rules in .gitignore, also of the repository around it, may leave out all of them."
                " Lines in .steadignore have the last word: !*.html",
            )
        files = "1 file" if packed.files == 1 else f"{packed.files} files"
        session.say(f"Packed {files} ({_size(archive.stat().st_size)}).")
        return session.client.upload_file(site.id, archive, Progress(session).show)
    finally:
        archive.unlink(missing_ok=True)


def _follow_deployment(
    session: Session, site: types.Site, env: str, built: types.Job, ends: float | None
) -> types.Job:
    """A build with `auto_deploy` starts another job when it ends. `ends` is when nobody waits any more."""
    wanted = (built.result or {}).get("deployment_id")
    appears_until = time.monotonic() + _APPEARS_WITHIN
    while wanted and time.monotonic() < appears_until:
        for deployment in session.client.deployments.list(site.id, env, limit=20).page().data:
            if deployment.id == wanted and deployment.job_id:
                job = session.client.jobs.get(deployment.job_id)
                handle: JobHandle[types.Job] = JobHandle(session.client, job, lambda done: done)
                left = None if ends is None else max(0.0, ends - time.monotonic())
                return follow(session, handle, timeout=left)
        if ends is not None and time.monotonic() >= ends:
            raise errors.JobTimeout(built)
        time.sleep(0.5)
    raise CliError(
        "The build has succeeded, but its deployment did not begin.",
        fix="stead deployments list",
        exit_code=3,
    )


def _url_of(session: Session, site: types.Site, env: str) -> str:
    if env == "production":
        return f"https://{site.domain}/"
    return f"https://{session.client.environments.get(site.id, env).subdomain}/"


class Progress:
    """A bar on a terminal; elsewhere nothing."""

    def __init__(self, session: Session) -> None:
        self._shows = sys.stderr.isatty() and not session.is_quiet and not session.as_json
        self._last = -1

    def show(self, sent: int, total: int) -> None:
        percent = 100 * sent // max(total, 1)
        if not self._shows or percent == self._last:
            return
        self._last = percent
        bar = "█" * (percent // 4)
        sys.stderr.write(f"\rUploading {bar:<25} {percent:3d} %{chr(10) if sent == total else ''}")
        sys.stderr.flush()


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(count // 1000, 1)} kB"


def _run(session: Session, **given: Any) -> None:
    _deploy(session, **given)


deploy = Command(
    "deploy",
    callback=_run,
    params=[
        click.Argument(["folder"], default=".", type=click.Path()),
        click.Option(
            ["--prod"], is_flag=True, help="Deploy to production, whatever the folder is linked to."
        ),
        click.Option(["--message", "-m"], help="Shown in the output; it is not stored."),
        click.Option(["--builder"], help="`static` or `cms`; by default what the site needs."),
        click.Option(["--detach"], is_flag=True, help="Do not wait: print the id of the job."),
        click.Option(
            ["--wait-timeout"], type=float, help="Seconds to wait for the build and the deployment."
        ),
    ],
    site=True,
    environment=True,
    help="Publish a folder: pack what .gitignore and .steadignore leave, upload, build and deploy it. Prints"
    " only the URL on stdout.",
)
