"""The console shows images that the node makes while the stack runs."""

import asyncio
from pathlib import Path

from stead.dev.image_progress import watch_images
from tests.node.harness import until


async def test_images_that_the_node_makes_are_reported(tmp_path: Path) -> None:
    log, reported = tmp_path / "node.log", list[str]()
    log.write_text('{"event":"images.made","image":"old"}\n')
    watching = asyncio.create_task(watch_images(log, reported.append))
    await asyncio.sleep(0)
    with log.open("a") as file:
        file.write('{"event":"images.making","image":"php8.2"}\nnot JSON "images."\n{"event":"other"}\n')
        file.write('{"event":"images.made","image":"php8.2"}\n')
        file.write('{"event":"images.not_made","image":"wordpress","reason":"no npm"}\n{"event":"unfinished')

    async def all_reported() -> bool | None:
        return len(reported) >= 3 or None

    await until(all_reported, 30)
    watching.cancel()
    assert reported == [
        "images: making php8.2; only the first time, takes some minutes",
        "images: php8.2 is ready",
        "images: wordpress could not be made: no npm",
    ]
