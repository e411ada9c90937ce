"""Functions are built with the image of the compilers, which a node has, makes on demand, or lacks."""

import sys
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from stead.node.builds.assembly import function_builder
from stead.node.builds.function_builder import IMAGE, FunctionBuilder
from stead.node.drivers.driver import Refusal
from stead.node.images.image_store import ImageStore
from stead.node.processes import Processes, Sink
from stead.protocol.work.builds import Build, FunctionBuild, InlineSource
from tests.node.builds.build_harness import BuildHarness, CapturedOutput, new_assignment

SOURCE = 'export default { fetch: () => new Response("hello") };'


def find_builder(
    bench: BuildHarness, images: Path, makes: str = "", *, on_demand: bool
) -> FunctionBuilder | None:
    """`makes` is executed in place of the program that makes images, which takes minutes and is tested
    elsewhere."""
    real = Processes(token_hex(8)).run

    async def run(argv: Sequence[str], sink: Sink, **more: Any) -> int:
        is_maker = "stead.steadctl" in argv
        return await real((sys.executable, "-c", makes) if is_maker else argv, sink, **more)

    settings = bench.settings(images=str(images), images_on_demand=on_demand)
    return function_builder(settings, run, bench.home, bench.builder())


def wanted(bench: BuildHarness) -> Build:
    layer = bench.store.url(f"layers/{token_hex(8)}")
    return Build("wasm", InlineSource("index.js", SOURCE), layer, function=FunctionBuild("javascript"))


def test_a_node_that_lacks_the_image_builds_no_functions(bench: BuildHarness, tmp_path: Path) -> None:
    assert find_builder(bench, tmp_path, on_demand=False) is None


async def test_a_build_is_refused_if_the_image_cannot_be_made(bench: BuildHarness, tmp_path: Path) -> None:
    builder = find_builder(bench, tmp_path, "raise SystemExit('the disk is full')", on_demand=True)
    assert builder is not None
    with pytest.raises(Refusal) as refused:
        await builder.build_function(new_assignment(CapturedOutput()), wanted(bench))
    assert refused.value.code == "build.unavailable"
    assert "the disk is full" in refused.value.reason
    bench.assert_nothing_is_left()


async def test_the_first_build_makes_the_image(bench: BuildHarness, tmp_path: Path) -> None:
    ImageStore().ensure(IMAGE)
    made = ImageStore().directory / IMAGE
    makes = f"import os; os.symlink({str(made)!r}, {str(tmp_path / IMAGE)!r})"
    builder, said = find_builder(bench, tmp_path, makes, on_demand=True), CapturedOutput()
    assert builder is not None
    for _ in range(2):
        build = wanted(bench)
        await builder.build_function(new_assignment(said), build)
        assert set(bench.layer(build)) == {"function.wasm"}
        bench.assert_nothing_is_left()
    assert said.text.count(f"images: making {IMAGE}; only the first time on this machine") == 1
