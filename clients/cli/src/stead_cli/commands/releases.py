"""`stead rollback` and `stead promote`."""

import click

from stead_cli.failures import CliError
from stead_cli.follow import follow
from stead_cli.session import Command, Session


def _rollback(session: Session, deployment: str | None, yes: bool) -> None:
    client, site, env = session.client, session.site_id, session.env_id
    if deployment is None:
        found = client.deployments.list(site, env, limit=50).page().data
        earlier = [each for each in found if each.status == "superseded"]
        if not earlier:
            raise CliError(
                "There is no earlier deployment.",
                code="rollback.nothing",
                fix="stead deployments list",
                exit_code=7,
            )
        deployment = earlier[0].id
    what = f"Roll back {session.env_name} of {session.site_name} to {deployment}"
    session.confirm(what, "reversible", deployment, yes=yes, confirmed=None)
    done = follow(session, client.deployments.rollback(site, env, deployment))
    result = done.result or {}
    session.show(result if session.as_json else result.get("url") or result.get("deployment_id"))


def _promote(session: Session, source: str | None, to: str, yes: bool) -> None:
    env = session.find_environment(source) if source else session.env_id
    target = session.find_environment(to)
    if env == target:
        raise CliError(
            f"{env} cannot be promoted to itself.",
            code="usage",
            fix="stead promote ENV [--to ENV]",
            exit_code=2,
        )
    session.confirm(
        f"Promote {source or env} to {to} of {session.site_name}", "reversible", env, yes=yes, confirmed=None
    )
    handle = session.client.deployments.promote(session.site_id, env, to_env=target)
    result = follow(session, handle).result or {}
    session.show(result if session.as_json else result.get("url") or result.get("deployment_id"))


_YES = click.Option(["--yes", "-y"], is_flag=True, help="Do not ask.")
rollback = Command(
    "rollback",
    callback=_rollback,
    params=[click.Argument(["deployment"], required=False), _YES],
    site=True,
    environment=True,
    help="Return to an earlier deployment: the one before the current, or the given one.",
)
promote = Command(
    "promote",
    callback=_promote,
    params=[
        click.Argument(["source"], required=False),
        click.Option(["--to"], default="production", show_default=True, help="The environment to deploy to."),
        _YES,
    ],
    site=True,
    environment=True,
    help="Deploy what an environment serves to production. Nothing is built.",
)
