"""The declaration of an engine. `stead.dev.engines` lists the engines; everything else reads that list."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from stead.dev.errors import DevError
from stead.dev.supervised_program import Instance, SupervisedProgram
from stead.protocol.subjects import Node, Program

E = TypeVar("E", bound="Engine")


@dataclass(frozen=True)
class Documentation:
    """The engine's row in the tables of docs/engines.md and docs/operations.md."""

    title: str
    purpose: str
    product: str
    """The product or protocol, with the versions that work."""
    reason: str
    """Why this product was chosen."""
    production: str
    """How an operator runs it."""
    development: str
    """How `steadctl dev` runs it."""
    when_down: str
    """What still works while it is down."""


class Peers(Protocol):
    """The other engines of the same stack."""

    def __getitem__(self, kind: type[E]) -> E: ...


class Engine(SupervisedProgram):
    core: ClassVar[bool] = False
    """Whether every installation needs it. Tests start the core engines unless they choose others."""
    documentation: ClassVar[Documentation]

    def __init__(self, instance: Instance, peers: Peers) -> None:
        super().__init__(instance)
        self.peers = peers

    def control_settings(self, program: Program) -> dict[str, str]:
        """Environment variables with which a program of the control plane uses this engine."""
        del program
        return {}

    def node_settings(self, node: Node) -> dict[str, str]:
        """Environment variables with which a node uses this engine."""
        del node
        return {}


async def read_output(command: list[str]) -> str:
    return await asyncio.to_thread(_run, command)


def _run(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as failure:
        raise DevError(f"{Path(command[0]).name} does not work on this machine: {failure}") from None
