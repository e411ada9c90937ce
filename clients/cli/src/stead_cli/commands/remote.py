"""`stead wp` and `stead ssh`."""

import os
import shlex
import shutil

import click

from stead_cli.failures import CliError
from stead_cli.follow import follow_output, print_line, show_line
from stead_cli.session import Command, Session
from stead_sdk import errors


def _wp(session: Session, arguments: tuple[str, ...]) -> None:
    handle = session.client.exec.run(session.site_id, session.env_id, args=list(arguments))
    if not session.as_json:
        follow_output(session, handle, print_line)
        return
    lines: list[str] = []
    try:
        job = follow_output(session, handle, lines.append)
    except errors.JobFailed:
        # What went wrong is in the output, and stdout has only the error.
        for line in lines:
            show_line(line)
        raise
    session.show({"job": job.to_dict(), "output": lines})


def _ssh(session: Session, print_only: bool, arguments: tuple[str, ...]) -> None:
    site, env = session.site_id, session.env_id
    credentials = session.client.access.credentials_get(site).to_dict()
    found = [
        each for each in credentials.get("environments", []) if env in (each.get("env_id"), each.get("type"))
    ]
    address = found[0].get("ssh") if found else None
    if not address:
        raise CliError(
            f"{env} has no SSH access.", code="ssh.unavailable", fix="Read docs/ssh.md.", exit_code=5
        )
    target = f"{address['user']}@{address['host']}"
    command = ["ssh", "-p", str(address["port"]), "--", target, *arguments]
    if print_only or session.as_json:
        session.show({"command": command} if session.as_json else shlex.join(command))
        return
    program = shutil.which("ssh")
    if program is None:
        raise CliError("The program ssh is not installed.", code="ssh.missing", fix=shlex.join(command))
    os.execv(program, command)  # noqa: S606 - an argv list


_REST = {"ignore_unknown_options": True, "allow_interspersed_args": False}
wp = Command(
    "wp",
    callback=_wp,
    params=[click.Argument(["arguments"], nargs=-1, required=True, type=click.UNPROCESSED)],
    context_settings=_REST,
    site=True,
    environment=True,
    help="Run WP-CLI in an environment: stead wp plugin list. Options of stead come before the command.",
)
ssh = Command(
    "ssh",
    callback=_ssh,
    params=[
        click.Option(
            ["--print", "print_only"], is_flag=True, help="Print the command instead of running it."
        ),
        click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED),
    ],
    context_settings=_REST,
    site=True,
    environment=True,
    help="Open a shell in an environment, with your own SSH key.",
)
