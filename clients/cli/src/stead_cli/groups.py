"""The tree of commands. A group imports what it runs, and nothing else."""

import difflib
from importlib import import_module
from typing import Any

import click

from stead_cli.overview import WRITTEN
from stead_cli.session import Command
from stead_cli.tree import GROUPS


class Root(click.Group):
    def __init__(self) -> None:
        super().__init__("stead", help="The command line client of Stead.", no_args_is_help=True)
        self.params.append(click.Option(["--version", "-V"], is_flag=True, is_eager=True, callback=_version))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*WRITTEN, *sorted(GROUPS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in WRITTEN:
            module = import_module(f"stead_cli.commands.{WRITTEN[cmd_name][0]}")
            found = getattr(module, cmd_name)
            assert isinstance(found, click.Command)  # noqa: S101 - the table names commands
            return found
        return OperationGroup(cmd_name) if cmd_name in GROUPS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        return _resolve(self, ctx, args, super().resolve_command)


class OperationGroup(click.Group):
    """The generated commands of one resource."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=f"Operations: {', '.join(GROUPS[name])}.", no_args_is_help=True)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        assert self.name is not None  # noqa: S101
        return list(GROUPS[self.name])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        assert self.name is not None  # noqa: S101
        if cmd_name not in GROUPS[self.name]:
            return None
        from stead_cli.operation import command_of

        module = import_module(f"stead_cli.operations.{self.name.replace('-', '_')}")
        return command_of(cmd_name, module.OPERATIONS[cmd_name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        assert self.name is not None  # noqa: S101
        with formatter.section("Commands"):
            formatter.write_dl(list(GROUPS[self.name].items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        return _resolve(self, ctx, args, super().resolve_command)


def _resolve(group: click.Group, ctx: click.Context, args: list[str], resolve: Any) -> Any:
    """An unknown command is an error with a suggestion."""
    try:
        return resolve(ctx, args)
    except click.UsageError as error:
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
