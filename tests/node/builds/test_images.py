"""Images are named by their content, found again, and made once even if many processes ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stead.node.images import recipes
from stead.node.images.debian import debian_sources
from stead.node.images.debian_packages import installed_versions, refuse_older
from stead.node.images.image_store import Image, ImageStore, digest_tree
from stead.node.images.recipe import ImageUnavailable, Package
from stead.node.images.recipes import recipe

BUILD = [sys.executable, "-m", "stead.steadctl", "images"]


def test_an_image_matches_its_digest_and_is_found_again(image: Image) -> None:
    digest, size = digest_tree(image.root)
    assert (image.metadata.digest, image.metadata.bytes) == (f"sha256:{digest}", size)
    assert image.metadata.recipe == recipe("static").digest
    assert ImageStore().find("static") == image == ImageStore().ensure("static")
    print(f"\nthe image: {size / 1e6:.0f} MB, made in {image.metadata.seconds:.0f} s")  # noqa: T201


def test_an_image_does_not_name_the_package_sources_of_the_machine(image: Image) -> None:
    addresses = {line.split()[-3].removesuffix("/") for line in debian_sources().splitlines()}
    assert addresses
    hosts = {address.partition("://")[2].partition("/")[0].encode() for address in addresses}
    for folder in ("etc", "var"):
        for path in (image.root / folder).rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert not any(host in path.read_bytes() for host in hosts), path


def test_an_image_names_its_packages_and_none_is_older_than_reviewed(image: Image) -> None:
    assert image.metadata.packages == installed_versions(image.root)
    assert set(recipe("static").debian) <= image.metadata.packages.keys()
    refuse_older("static", image.metadata.packages)


def test_a_package_that_is_older_than_reviewed_is_refused(image: Image) -> None:
    """A mirror that is out of date has old versions, which are signed too."""
    with pytest.raises(ImageUnavailable, match=r"git 1:2\.0-1 \(reviewed: "):
        refuse_older("static", image.metadata.packages | {"git": "1:2.0-1"})
    refuse_older("static", image.metadata.packages | {"git": "1:99.0-1"})


def test_the_command_prints_the_image_that_builds_use(image: Image) -> None:
    for word in ("build", "list"):
        done = subprocess.run([*BUILD, word], capture_output=True, text=True, check=True)
        assert f"* static  {image.metadata.digest}" in done.stdout


def test_another_recipe_is_another_image(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = Package("npm", "0.0.1", recipes._NPM.integrity)
    monkeypatch.setattr(recipes, "_NPM", changed)
    with pytest.raises(ImageUnavailable, match="run steadctl images build"):
        ImageStore().find("static")


def test_a_failure_to_make_an_image_is_explained(tmp_path: Path) -> None:
    done = subprocess.run(
        [*BUILD, "build"],
        capture_output=True,
        text=True,
        env={**os.environ, "STEAD_IMAGES": str(tmp_path), "PATH": "/nowhere"},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "an image cannot be made without mmdebstrap, apt-get, npm" in done.stderr
    assert [path.name for path in (tmp_path / "static").iterdir()] == ["lock"]
    with pytest.raises(ImageUnavailable, match="there is no image called other"):
        ImageStore(tmp_path).ensure("other")
