"""Simulated builds."""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.artifacts.packer import PackedLayer, pack_layer
from stead.node import transfer
from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.node.drivers.simulation import Simulation
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.builds import Build, BuildResult, GitSource

SIMULATED_PAGE = """<!doctype html>
<title>A simulation</title>
<p>Nothing was built: the simulator packed this page for {what}.</p>
"""


class SimulatedBuilder(Driver):
    """Fetches and runs nothing: it packs a page that says so, in the same format as a real builder."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("cms", "static", "wasm"))]

    async def build(self, task: Assignment, wanted: Build) -> BuildResult:
        await self._simulation.simulate(Build, task)
        ref, commit = "", ""
        if isinstance(wanted.source, GitSource):
            ref, commit = wanted.source.ref, wanted.source.commit or _simulated_commit(wanted.source, task)
        with tempfile.TemporaryDirectory(dir=self._simulation.scratch) as place:
            tree, layer = Path(place) / "tree", Path(place) / "layer"
            tree.mkdir()
            (tree / "index.html").write_text(SIMULATED_PAGE.format(what=commit or task.job))
            packed = await run_in_thread(_pack, tree, layer)
            await transfer.put(layer, wanted.layer_url)
        await task.output.say("simulator: SIMULATION: nothing was built; a page that says so was packed")
        return BuildResult(
            digest=packed.digest,
            size=packed.size,
            diff_id=packed.diff_id,
            files=packed.files,
            bytes=packed.content_bytes,
            directories=packed.directories,
            commit=commit,
            ref=ref,
            author="Simulator" if commit else "",
            message="A simulated commit." if commit else "",
        )


def _simulated_commit(source: GitSource, task: Assignment) -> str:
    name = f"{source.url} {source.ref} {task.job}".encode()
    return hashlib.sha1(name, usedforsecurity=False).hexdigest()


def _pack(tree: Path, layer: Path) -> PackedLayer:
    with layer.open("wb") as file:
        return pack_layer(tree, file)
