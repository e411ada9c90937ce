"""WordPress itself is compiled once for all sites, and none of them can change the result."""

import time
from pathlib import Path

import pytest

from bench.cms_pages import container_time
from stead.node.images.image_store import ImageStore
from stead.node.wordpress import plan
from stead.node.wordpress.compiled_core import INSIDE, compiled_path
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site

PATIENCE = 240.0
ROUNDS = 2


async def wait_until_compiled(site: Site) -> Path:
    place = compiled_path(site.hosted.plan.image, site.hosted.plan.core)  # type: ignore[attr-defined]

    async def is_there() -> bool | None:
        return place.is_dir() or None

    await until(is_there, PATIENCE)
    return place


async def wake(site: Site) -> int:
    """The processor time of the container until the first page was answered."""
    await site.hosted.sleep()
    page = await site.get(f"/?nocache={time.monotonic_ns()}")
    assert (page.status_code, "A Site" in page.text) == (200, True)
    return container_time(site)()


async def test_a_site_that_wakes_does_not_compile_wordpress_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    await wait_until_compiled(site)
    compiled = min([await wake(site) for _ in range(ROUNDS)])
    monkeypatch.setattr(plan, "compiled_path", lambda *_: Path("/nonexistent"))
    plain = min([await wake(site) for _ in range(ROUNDS)])
    print(f"waking with compiled files takes {compiled / plain:.2f} of the processor time")  # noqa: T201
    assert compiled < 0.7 * plain


async def test_a_site_cannot_change_compiled_files(site: Site):
    place = await wait_until_compiled(site)
    before = sum(1 for _ in place.rglob("*"))
    await site.hosted.sleep()
    # The site reads them, so an attempt that fails has looked at the right place.
    found = await site.run_php(f'echo count(glob("{INSIDE}/*/srv/site/*.bin"));')
    assert int(found) > 0
    files, folders = f'glob("{INSIDE}/*/srv/site/*.bin")', f'glob("{INSIDE}/*")'
    attempts = (
        f'foreach ({files} as $file) {{ echo @file_put_contents($file, "x"); }}',
        f"foreach ({files} as $file) {{ echo @unlink($file), @chmod($file, 0777); }}",
        f'foreach ({folders} as $folder) {{ echo @rename($folder, "{INSIDE}/other"), @rmdir($folder); }}',
        f'foreach ({folders} as $folder) {{ echo @file_put_contents("$folder/new.bin", "x"); }}',
    )
    for attempt in attempts:
        assert await site.run_php(attempt) == ""
    assert sum(1 for _ in place.rglob("*")) == before
    owners = {(path.stat().st_uid, path.stat().st_mode & 0o022) for path in place.rglob("*")}
    assert owners == {(0, 0)}


async def test_compiled_files_are_removed_with_the_image_that_they_are_made_from(tmp_path: Path):
    store = ImageStore(tmp_path)
    compiled = tmp_path / "php8.2" / f"sha256-{'1' * 64}" / "compiled"
    kept, gone = (f"sha256-{digit * 64}" for digit in "ab")
    (tmp_path / "wordpress" / kept).mkdir(parents=True)
    for name in (kept, gone):
        (compiled / name).mkdir(parents=True)
    store.prune()
    assert [path.name for path in compiled.iterdir()] == [kept]
