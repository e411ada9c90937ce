"""The tree of commands. A group imports what it runs, and nothing else."""

from importlib import import_module
from typing import Any

import click

from stead_cli.overview import INSIDE, WRITTEN
from stead_cli.session import Command
from stead_cli.tree import GROUPS


class Root(click.Group):
    def __init__(self) -> None:
        super().__init__("stead", help="The command line client of Stead.", no_args_is_help=True)
        self.params.append(click.Option(["--version", "-V"], is_flag=True, is_eager=True, callback=_version))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*WRITTEN, *INSIDE, *sorted({*GROUPS} - {*WRITTEN, *INSIDE})]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in WRITTEN:
            return _written(WRITTEN[cmd_name][0], cmd_name)
        return OperationGroup(cmd_name) if cmd_name in GROUPS or cmd_name in INSIDE else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if len(args) > 1 and args[0] in WRITTEN and args[1] in GROUPS.get(args[0], ()):
            # `stead logs` is written by hand, `stead logs tail` is generated.
            return args[0], OperationGroup(args[0]), args[1:]
        return _resolve(self, ctx, args, super().resolve_command)


class OperationGroup(click.Group):
    """The generated commands of one resource, and those that are written by hand."""

    def __init__(self, name: str) -> None:
        self._generated, self._written = INSIDE.get(name, (name, {}))
        self._summaries = {
            **{each: summary for each, (_, summary) in self._written.items()},
            **{each: text for each, text in GROUPS[self._generated].items() if each not in self._written},
        }
        super().__init__(name, help=f"Commands: {', '.join(self._summaries)}.", no_args_is_help=True)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in self._written:
            return _written(self._written[cmd_name][0], cmd_name)
        if cmd_name not in self._summaries:
            return None
        from stead_cli.operation import command_of

        module = import_module(f"stead_cli.operations.{self._generated.replace('-', '_')}")
        return command_of(cmd_name, module.OPERATIONS[cmd_name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        return _resolve(self, ctx, args, super().resolve_command)


def _written(module: str, name: str) -> click.Command:
    found = getattr(import_module(f"stead_cli.commands.{module}"), name)
    assert isinstance(found, click.Command)  # noqa: S101 - the table names commands
    return found


def _resolve(group: click.Group, ctx: click.Context, args: list[str], resolve: Any) -> Any:
    """An unknown command is an error with a suggestion."""
    try:
        return resolve(ctx, args)
    except click.UsageError as error:
        import difflib

        near = difflib.get_close_matches(args[0], group.list_commands(ctx), 3)
        if near and not args[0].startswith("-"):
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from None
        raise


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from stead_cli import __version__

        click.echo(f"stead {__version__}")
        ctx.exit()


__all__ = ["Command", "OperationGroup", "Root"]
