"""`stead completion`."""

import click

from stead_cli.session import Command, Session


def _completion(session: Session, shell: str) -> None:
    from click.shell_completion import get_completion_class

    from stead_cli.groups import Root

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    script = kind(Root(), {}, "stead", "_STEAD_COMPLETE").source()
    session.show({"script": script} if session.as_json else script)


completion = Command(
    "completion",
    callback=_completion,
    params=[click.Argument(["shell"], type=click.Choice(("bash", "zsh", "fish")))],
    help='Print the completion script of a shell: eval "$(stead completion bash)".',
)
