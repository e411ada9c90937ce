"""pnpm, yarn and bun install what their lock files say, each in the version that the project names."""

import json
from pathlib import Path

import pytest

from stead.node.builds import package_managers
from stead.node.builds.failures import BuildFailed
from tests.node.builds.build_harness import BuildHarness, CapturedOutput, machine_registry
from tests.node.builds.projects import ONE, WRITES_A_PAGE, package

INTEGRITY = "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="
SHA1 = "7535345b896734d5f80c4d06c50955527a14f12b"
USES_IT = "if (!require('is-number')(7)) process.exit(3);" + WRITES_A_PAGE
PNPM = f"""lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false
importers:
  .:
    dependencies:
      is-number:
        specifier: 7.0.0
        version: 7.0.0
packages:
  is-number@7.0.0:
    resolution: {{integrity: {INTEGRITY}}}
    engines: {{node: '>=0.12.0'}}
snapshots:
  is-number@7.0.0: {{}}
"""
YARN_CLASSIC = f"""# yarn lockfile v1


is-number@7.0.0:
  version "7.0.0"
  resolved "REGISTRY/is-number/-/is-number-7.0.0.tgz#{SHA1}"
  integrity {INTEGRITY}
"""
_CHECKSUM = (
    "10c0/b4686d0d3053146095ccd45346461bc8e53b80aeb7671cc52a4de02dbbf7dc0d"
    "1d2a986e2fe4ae206984b4d34ef37e8b795ebc4f4295c978373e6575e295d811"
)
YARN = f"""
__metadata:
  version: 8
  cacheKey: 10c0

"is-number@npm:7.0.0":
  version: 7.0.0
  resolution: "is-number@npm:7.0.0"
  checksum: {_CHECKSUM}
  languageName: node
  linkType: hard

"site@workspace:.":
  version: 0.0.0-use.local
  resolution: "site@workspace:."
  dependencies:
    is-number: "npm:7.0.0"
  languageName: unknown
  linkType: soft
"""
BUN = json.dumps(
    {
        "lockfileVersion": 1,
        "workspaces": {"": {"name": "site", "dependencies": ONE}},
        "packages": {"is-number": ["is-number@7.0.0", "", {}, INTEGRITY]},
    }
)


def site(lock_file: str, content: str) -> dict[str, str]:
    return {
        "package.json": package(build="node build.js", dependencies=ONE),
        "build.js": USES_IT,
        lock_file: content.replace("REGISTRY/", machine_registry()),
    }


@pytest.mark.parametrize(
    ("lock_file", "content", "installs"),
    [
        ("pnpm-lock.yaml", PNPM, "pnpm install --frozen-lockfile"),
        ("yarn.lock", YARN_CLASSIC, "yarn install --frozen-lockfile"),
        ("yarn.lock", YARN, "yarn install --immutable"),
        ("bun.lock", BUN, "bun install --frozen-lockfile"),
    ],
    ids=["pnpm", "yarn 1", "yarn 4", "bun"],
)
async def test_the_lock_file_decides_what_installs_and_builds(
    bench: BuildHarness, lock_file: str, content: str, installs: str
) -> None:
    said, wanted = CapturedOutput(), bench.wanted(bench.upload(site(lock_file, content)), TITLE="installed")
    builder = bench.builder(build_disk_mb=1024, build_memory_mb=1024)
    try:
        await bench.build(wanted, said, builder)
    except Exception as error:
        raise AssertionError(said.text) from error
    assert bench.layer(wanted) == {"index.html": b"installed"}
    assert f"install: {installs}" in said.text
    assert f"build: {installs.split()[0]} run build" in said.text


async def test_a_lock_file_that_does_not_fit_is_refused(bench: BuildHarness) -> None:
    outdated = PNPM.replace("specifier: 7.0.0", "specifier: 6.0.0")
    said = CapturedOutput()
    reason = await bench.refused(bench.wanted(bench.upload(site("pnpm-lock.yaml", outdated))), said)
    assert reason == "pnpm install --frozen-lockfile ended with exit code 1"
    assert "ERR_PNPM_OUTDATED_LOCKFILE" in said.text


@pytest.mark.parametrize(
    ("files", "named", "chosen"),
    [
        ({"package-lock.json": "{}", "pnpm-lock.yaml": PNPM}, "", ("npm", "")),
        ({"package-lock.json": "{}", "pnpm-lock.yaml": PNPM}, "pnpm@9.1.0", ("pnpm", "9.1.0")),
        ({"pnpm-lock.yaml": "lockfileVersion: '6.0'\n"}, "", ("pnpm", "8.15.9")),
        ({"pnpm-lock.yaml": PNPM}, "pnpm@10.2.0+sha512.abc", ("pnpm", "10.2.0")),
        ({"yarn.lock": YARN_CLASSIC}, "", ("yarn", "1.22.22")),
        ({"yarn.lock": YARN}, "", ("@yarnpkg/cli-dist", "4.9.2")),
        ({"yarn.lock": YARN}, "yarn@3.8.7", ("@yarnpkg/cli-dist", "3.8.7")),
        ({"bun.lockb": ""}, "bun@1.2.0", ("bun", "1.2.0")),
        ({"package-lock.json": "{}"}, "npm@10.9.0", ("npm", "")),
        ({}, "pnpm@10.2.0", None),
    ],
)
def test_the_package_manager_is_chosen_by_its_name_or_its_lock_file(
    tmp_path: Path, files: dict[str, str], named: str, chosen: tuple[str, str] | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    found = package_managers.choose(tmp_path, named)
    assert (None if found is None else (found.package or found.name, found.version)) == chosen


@pytest.mark.parametrize(
    ("files", "named", "reason"),
    [
        ({"yarn.lock": YARN}, "pnpm@10.2.0", "there is no lock file of pnpm"),
        ({"yarn.lock": YARN}, "pnpm", "with a version, for example"),
        ({"yarn.lock": YARN}, "yarn@https://example.com/yarn.js", "with a version, for example"),
        ({"pnpm-lock.yaml": PNPM}, "pnpm@10.2.0 --prefix=/", "with a version, for example"),
        ({"pnpm-lock.yaml": "lockfileVersion: 5.4\n"}, "", "is not supported"),
    ],
)
def test_what_cannot_be_chosen_is_explained(
    tmp_path: Path, files: dict[str, str], named: str, reason: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(BuildFailed, match=reason):
        package_managers.choose(tmp_path, named)


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "yarn.lock").symlink_to("/etc/hostname")
    with pytest.raises(BuildFailed, match="not a link"):
        package_managers.choose(tmp_path, "")
