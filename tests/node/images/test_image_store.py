"""Images are found by name and by digest, and removed only when nobody needs them. The recipe of these tests
needs neither Debian nor npm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stead.node.images import image_store
from stead.node.images.image_store import Image, ImageStore
from stead.node.images.recipe import ImageUnavailable, Recipe, TextFile


class Versions:
    """A store in which each version of the image `wordpress` is one file."""

    def __init__(self, store: ImageStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self._monkeypatch = store, monkeypatch

    def publish(self, text: str, *, fresh: bool = False) -> Image:
        wanted = Recipe("wordpress", 1, files=(TextFile("/srv/version", text),))
        self._monkeypatch.setattr(image_store, "recipe", lambda _: wanted)
        return self.store.ensure("wordpress", fresh=fresh)

    def digests(self) -> set[str]:
        return {image.metadata.digest for image in self.store.list_images()}


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Versions:
    return Versions(ImageStore(tmp_path), monkeypatch)


def test_an_image_is_found_by_its_digest_after_another_recipe_has_replaced_it(versions: Versions) -> None:
    old, new = versions.publish("1"), versions.publish("2")
    assert versions.store.find("wordpress") == new
    assert versions.store.get("wordpress", old.metadata.digest) == old
    assert (old.root / "srv/version").read_text() == "1"


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, "sha256:../../static", "", "recipe-1"])
def test_an_unknown_digest_is_no_image(versions: Versions, digest: str) -> None:
    versions.publish("1")
    with pytest.raises(ImageUnavailable, match="there is no image wordpress with the digest"):
        versions.store.get("wordpress", digest)


def test_pruning_keeps_the_current_image_and_removes_the_one_it_replaced(versions: Versions) -> None:
    old, new = versions.publish("1"), versions.publish("2")
    assert versions.store.prune() == [old]
    assert versions.digests() == {new.metadata.digest}
    assert not old.root.exists()
    assert versions.store.prune() == []
    assert {path.name[:6] for path in new.root.parent.parent.iterdir()} == {
        *("lock", "holder", "recipe", "sha256")
    }


def test_an_image_that_an_environment_holds_is_kept_until_it_is_released(versions: Versions) -> None:
    old = versions.publish("1")
    versions.store.hold(old, "env_1")
    versions.store.hold(old, "env_2")
    versions.store.hold(old, "env_2")
    versions.publish("2")
    assert versions.store.prune() == []
    versions.store.release(old, "env_1")
    assert ImageStore(versions.store.directory).holders(old) == ["env_2"]
    assert versions.store.prune() == []
    versions.store.release(old, "env_2")
    versions.store.release(old, "env_2")
    assert versions.store.prune() == [old]
    with pytest.raises(ImageUnavailable):
        versions.store.hold(old, "env_1")


@pytest.mark.parametrize("holder", ["", "../root", "a/b", "a" * 81])
def test_a_holder_is_a_plain_name(versions: Versions, holder: str) -> None:
    with pytest.raises(ValueError, match="not the name of a holder"):
        versions.store.hold(versions.publish("1"), holder)


def test_an_image_that_a_process_has_locked_is_kept_until_the_process_ends(versions: Versions) -> None:
    old = versions.publish("1")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from stead.node.images.image_store import ImageStore\n"
        "store = ImageStore(Path(sys.argv[1]))\n"
        "store.lock(store.get('wordpress', sys.argv[2]))\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    locker = subprocess.Popen(
        [sys.executable, "-c", program, str(versions.store.directory), old.metadata.digest],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert locker.stdout is not None
        assert locker.stdout.readline() == b"locked\n"
        versions.publish("2")
        assert versions.store.prune() == []
    finally:
        locker.kill()
        locker.communicate()
    assert versions.store.prune() == [old]


def test_a_fresh_image_with_the_same_content_is_the_same_image_and_keeps_its_holders(
    versions: Versions,
) -> None:
    first = versions.publish("1")
    versions.store.hold(first, "env_1")
    again = versions.publish("1", fresh=True)
    assert again.metadata.made_at > first.metadata.made_at
    assert (again.root, versions.store.holders(again)) == (first.root, ["env_1"])


def test_other_users_can_read_an_image_whatever_the_umask(versions: Versions) -> None:
    before = os.umask(0o077)
    try:
        image = versions.publish("1")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (image.root, *image.root.rglob("*"))}
    assert modes == {"root": 0o755, "srv": 0o755, "version": 0o644}
