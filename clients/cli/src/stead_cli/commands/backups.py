"""`stead backup` and `stead restore`."""

import click

from stead_cli.failures import CliError
from stead_cli.follow import follow
from stead_cli.session import Command, Session


def _backup(session: Session, detach: bool) -> None:
    handle = session.client.backups.create(session.site_id)
    if detach:
        session.show(handle.job.to_dict() if session.as_json else handle.id)
        return
    result = follow(session, handle).result or {}
    session.show(result if session.as_json else result.get("snapshot_id"))


def _restore(session: Session, snapshot: str | None, confirm: str | None) -> None:
    client, site = session.client, session.client.sites.get(session.site_id)
    if snapshot is None:
        found = [each for each in client.sites.snapshots(site.id, limit=100).page().data if each.verified_at]
        if not found:
            raise CliError(
                "The site has no snapshot that can be restored.",
                code="restore.nothing",
                fix="stead backup",
                exit_code=5,
            )
        snapshot = found[0].id
        session.say(f"The latest snapshot is of {found[0].taken_at}.")
    session.confirm(
        f"Replace the content of {site.domain} with the snapshot {snapshot}: what is newer than it",
        "irreversible",
        site.domain,
        yes=False,
        confirmed=confirm,
    )
    result = follow(session, client.backups.restore(site.id, snapshot)).result or {}
    session.show(result if session.as_json else result.get("url") or snapshot)


backup = Command(
    "backup",
    callback=_backup,
    params=[click.Option(["--detach"], is_flag=True, help="Do not wait: print the id of the job.")],
    site=True,
    help="Take a snapshot of the site: database, files, release and configuration.",
)
restore = Command(
    "restore",
    callback=_restore,
    params=[
        click.Argument(["snapshot"], required=False),
        click.Option(["--confirm"], help="The domain of the site: do not ask."),
    ],
    site=True,
    help="Restore a snapshot of the site: the given one, or the latest. `stead sites snapshots` lists them.",
)
