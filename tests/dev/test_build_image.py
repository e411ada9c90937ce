"""The build image of the node on a development machine is created, or the reason is reported."""

import asyncio
from pathlib import Path

import psutil
import pytest

from stead.dev.build_image import build_settings, ensure_build_image
from tests.patience import time_limit


async def test_a_machine_that_cannot_create_an_image_reports_the_reason_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEAD_IMAGES", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    reported: list[str] = []
    await ensure_build_image(reported.append)
    assert reported[-1] == (
        "images: builds are unavailable: an image cannot be made without mmdebstrap, apt-get, npm"
    )


async def test_creating_an_image_can_be_cancelled_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEAD_IMAGES", str(tmp_path))
    reported: list[str] = []
    started = asyncio.Event()

    def report(text: str) -> None:
        reported.append(text)
        started.set()

    build = asyncio.create_task(ensure_build_image(report))
    async with time_limit(60):
        await started.wait()
    assert reported == ["images: creating the build image; only the first time, takes about a minute"]
    build.cancel()
    await asyncio.wait({build})
    left = [
        it for it in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(it.info["cmdline"] or [])
    ]
    assert [it for it in left if it.status() != psutil.STATUS_ZOMBIE] == []


async def test_the_local_node_uses_the_registry_of_the_local_npm() -> None:
    given = await build_settings()
    assert given["STEAD_NPM_REGISTRY"].startswith("http")
    assert given["STEAD_NPM_REGISTRY"].endswith("/")
