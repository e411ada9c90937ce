"""An image that is missing is made when the first site needs it."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from stead.node.drivers.driver import Refusal
from stead.node.images import on_demand
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.processes import Processes, Sink
from tests.node.driver_pairs import CapturedOutput
from tests.node.harness import until


class Tool:
    """Runs a program in place of the one that makes images, which takes minutes and is tested elsewhere."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.environment: Mapping[str, str] = {}

    async def run(
        self,
        argv: Sequence[str],
        sink: Sink,
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> int:
        del argv, directory, stdin, stdout
        self.environment = environment or {}
        return await Processes("tests").run((sys.executable, "-c", self.code), sink, environment=environment)


async def test_the_progress_is_part_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "REPORT_SECONDS", 0.1)
    monkeypatch.setenv("STEAD_NATS_PASSWORD", "secret")
    tool, output = Tool("import time; time.sleep(0.5)"), CapturedOutput()
    await ImageMaker(ImageStore(tmp_path), tool.run).ensure("wordpress", output)
    said = "\n".join(output.lines)
    assert "making wordpress; only the first time" in said
    assert "making wordpress since 0 s" in said
    assert "wordpress is ready after" in said
    assert tool.environment["STEAD_IMAGES"] == str(tmp_path)
    assert "STEAD_NATS_PASSWORD" not in tool.environment


async def test_an_image_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    tool = Tool("import sys; sys.exit('steadctl images: mmdebstrap is not installed')")
    with pytest.raises(Refusal) as refused:
        await ImageMaker(ImageStore(tmp_path), tool.run).ensure("php8.2", CapturedOutput())
    assert refused.value.code == "runtime.unsupported"
    assert "mmdebstrap is not installed" in refused.value.reason


async def test_a_cancelled_job_leaves_no_process(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    tool = Tool(f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    maker = ImageMaker(ImageStore(tmp_path), tool.run)
    making = asyncio.create_task(maker.ensure("wordpress", CapturedOutput()))

    async def has_started() -> bool | None:
        return (started.exists() and bool(started.read_text())) or None

    await until(has_started, 30)
    making.cancel()
    await asyncio.wait({making}, timeout=30)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def test_an_image_that_exists_is_used() -> None:
    output = CapturedOutput()
    await ImageMaker(ImageStore(), Tool("raise SystemExit(1)").run).ensure("static", output)
    assert not output.lines
