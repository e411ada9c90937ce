"""Projects choose their version of Node.js in the usual files."""

from pathlib import Path

import msgspec
import pytest

from stead.node.builds import node_versions
from stead.node.builds.failures import BuildFailed
from stead.node.images.image_store import ImageStore
from stead.node.images.recipes import NODE_VERSIONS
from tests.made_images import has_image
from tests.node.builds.build_harness import BuildHarness, CapturedOutput
from tests.node.builds.projects import package


@pytest.mark.parametrize(
    ("engines", "chosen"),
    [
        ("", "24"),
        ("*", "24"),
        (">=18", "24"),
        (">=18.0.0 <21", "20"),
        (">= 20.9.0 < 23", "22"),
        ("20", "20"),
        ("20.x", "20"),
        ("22.*", "22"),
        ("^20.9.0", "20"),
        ("~22.4", "22"),
        ("v22.1.0", "22"),
        ("18 || 20", "20"),
        ("^18.18.0 || ^20.9.0 || >=21.1.0", "24"),
        ("20 - 22", "22"),
        ("<=22", "22"),
        ("<24", "22"),
        (">22", "24"),
        ("=20.11.1", "20"),
    ],
)
def test_the_newest_version_that_engines_allow_is_chosen(tmp_path: Path, engines: str, chosen: str) -> None:
    assert node_versions.choose(tmp_path, engines) == chosen


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("20\n", "20"),
        ("v22.11.0", "22"),
        ("lts/iron", "20"),
        ("lts/*", "24"),
        ("22.x", "22"),
        ("lts/Jod", "22"),
    ],
)
@pytest.mark.parametrize("name", [".nvmrc", ".node-version"])
def test_a_version_file_comes_before_engines(tmp_path: Path, name: str, text: str, chosen: str) -> None:
    (tmp_path / name).write_text(text)
    assert node_versions.choose(tmp_path, ">=24") == chosen


@pytest.mark.parametrize(
    "engines", ["18", "<20", "21.x", ">=25", "latest", "20 && 22", ">=20 <20", "^" * 300]
)
def test_a_version_that_does_not_exist_here_is_explained(tmp_path: Path, engines: str) -> None:
    with pytest.raises(BuildFailed, match="there are the versions 20, 22, 24"):
        node_versions.choose(tmp_path, engines)


@pytest.mark.parametrize("text", ["18", "lts/hydrogen", "system", "", "20; rm -rf /", "v" * 1000])
def test_a_version_file_that_cannot_be_used_is_explained(tmp_path: Path, text: str) -> None:
    (tmp_path / ".nvmrc").write_text(text)
    with pytest.raises(BuildFailed, match=r"\.nvmrc asks for Node\.js"):
        node_versions.choose(tmp_path, "")


@pytest.mark.parametrize(
    "major", [major for major in NODE_VERSIONS if major == node_versions.DEFAULT or has_image(f"node{major}")]
)
async def test_a_build_runs_with_the_version_that_it_asks_for(bench: BuildHarness, major: str) -> None:
    content = msgspec.json.decode(
        package(build="mkdir dist && node --version > dist/node && npm -v > dist/npm")
    )
    files = {"package.json": msgspec.json.encode(content | {"engines": {"node": major}}).decode()}
    said, wanted = CapturedOutput(), bench.wanted(bench.upload(files))
    await bench.build(wanted, said)
    assert bench.layer(wanted)["node"].decode().strip() == f"v{NODE_VERSIONS[major]}"
    assert bench.layer(wanted)["npm"].startswith(b"11.")
    assert (f"Node.js {NODE_VERSIONS[major]}" in said.text) == (major != node_versions.DEFAULT)


async def test_a_node_without_the_image_says_so(bench: BuildHarness, tmp_path: Path) -> None:
    files = {"mkdocs.yml": "site_name: x"}
    builder = bench.builder()
    assert builder.toolchains is not None
    builder.toolchains._images = ImageStore(tmp_path)
    reason = await bench.refused(bench.wanted(bench.upload(files)), builder=builder)
    assert reason == "this node does not have the image python; ask the operator"
