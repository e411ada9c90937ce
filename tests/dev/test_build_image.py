"""The image that the node of a development machine builds in: had, or missing with a reason."""

import asyncio
from pathlib import Path

import psutil
import pytest

from stead.dev.build_image import build_settings, ensure_build_image


async def test_a_machine_that_cannot_make_an_image_says_why_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEAD_IMAGES", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    told: list[str] = []
    await ensure_build_image(told.append)
    assert told[-1] == (
        "images: builds are unavailable: an image cannot be made without mmdebstrap, apt-get, npm"
    )


async def test_making_an_image_can_be_stopped_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEAD_IMAGES", str(tmp_path))
    told: list[str] = []
    begun = asyncio.Event()

    def tell(text: str) -> None:
        told.append(text)
        begun.set()

    making = asyncio.create_task(ensure_build_image(tell))
    async with asyncio.timeout(60):
        await begun.wait()
    assert told == ["images: creating the build image; only the first time, takes about a minute"]
    making.cancel()
    await asyncio.wait({making})
    left = [
        it for it in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(it.info["cmdline"] or [])
    ]
    assert [it for it in left if it.status() != psutil.STATUS_ZOMBIE] == []


async def test_a_node_on_this_machine_installs_from_the_registry_of_its_npm() -> None:
    given = await build_settings()
    assert given["STEAD_NPM_REGISTRY"].startswith("http")
    assert given["STEAD_NPM_REGISTRY"].endswith("/")
