"""Sites that npm builds: installation, build, cache, and refusals."""

import dataclasses
import json

import msgspec
import pytest

from stead.shared.address_policy import Address
from tests.node.builds.build_harness import BuildHarness, CapturedOutput
from tests.node.builds.projects import ONE, WRITES_A_PAGE, lock, npm_site, package, scripted

USES_IT = "const isNumber = require('is-number'); if (!isNumber(7)) process.exit(3);" + WRITES_A_PAGE


async def nowhere(host: str, port: int) -> list[Address]:
    raise OSError(f"{host}:{port} is not known")


async def test_a_site_is_installed_built_and_only_its_output_is_packed(bench: BuildHarness) -> None:
    bench.repositories.repository("npm", npm_site(USES_IT))
    said, wanted = CapturedOutput(), bench.wanted(bench.git("npm"), TITLE="from a variable")
    facts = await bench.build(wanted, said)
    assert bench.layer(wanted) == {"index.html": b"from a variable"}
    assert facts.files == 1
    assert "install: npm ci" in said.text
    assert "build: npm run build" in said.text
    assert "the site is in dist" in said.text


async def test_a_build_is_told_what_it_is_built_for(bench: BuildHarness) -> None:
    prints = "for (const name in process.env) if (/^STEAD_/.test(name)) console.log(name, process.env[name])"
    commit = bench.repositories.repository("told", scripted(prints + ";" + WRITES_A_PAGE))
    said, wanted = CapturedOutput(), bench.wanted(bench.git("told"), STEAD_SITE="invented", TITLE="x")
    known = (("STEAD_SITE", "site_1"), ("STEAD_URL", "https://shop.example.com"))
    await bench.build(msgspec.structs.replace(wanted, platform_variables=known), said)
    assert {line.partition(" | ")[2] for line in said.lines if "| STEAD_" in line} == {
        "STEAD_SITE site_1",
        "STEAD_URL https://shop.example.com",
        f"STEAD_COMMIT {commit}",
        "STEAD_REF main",
    }


async def test_a_second_build_takes_its_packages_from_the_cache_of_its_environment(
    bench: BuildHarness,
) -> None:
    files, site = npm_site(USES_IT), "site_cached"
    first = CapturedOutput()
    await bench.build(bench.wanted(bench.upload(files)), first, site=site)
    cut_off = dataclasses.replace(bench.builder(), resolve=nowhere)
    wanted = bench.wanted(bench.upload(files))
    await bench.build(wanted, builder=cut_off, site=site)
    assert bench.layer(wanted) == {"index.html": b"no title"}
    reason = await bench.refused(bench.wanted(bench.upload(files)), builder=cut_off, site="site_other")
    assert reason == "npm ci ended with exit code 1"


async def test_no_other_environment_of_the_site_reads_or_changes_the_cache(bench: BuildHarness) -> None:
    shows = "console.log('cached:', require('fs').readdirSync('/cache').join());"
    plants = "require('fs').writeFileSync('/cache/planted', 'by a branch');"
    files = scripted(shows + plants + WRITES_A_PAGE)
    seen = {}
    for environment in ("env_branch", "env_production", "env_branch"):
        said = CapturedOutput()
        await bench.build(
            bench.wanted(bench.upload(files)), said, site="site_two_caches", environment=environment
        )
        seen[environment] = "planted" in said.text.partition("cached:")[2]
    assert seen == {"env_branch": True, "env_production": False}


async def test_packages_without_a_lock_file_are_refused_with_advice(bench: BuildHarness) -> None:
    files = {"package.json": package(build="x", dependencies=ONE)}
    reason = await bench.refused(bench.wanted(bench.upload(files)))
    assert reason == (
        "package.json has dependencies and no lock file: run npm install and commit package-lock.json"
    )


async def test_a_failed_build_script_is_reported_with_its_exit_code(bench: BuildHarness) -> None:
    said = CapturedOutput()
    reason = await bench.refused(
        bench.wanted(bench.upload(scripted("console.error('no luck'); process.exit(7)"))), said
    )
    assert reason == "npm run build ended with exit code 7"
    assert any(line.endswith("build | no luck") for line in said.lines)


async def test_the_error_of_npm_for_a_wrong_lock_file_is_shown(bench: BuildHarness) -> None:
    said = CapturedOutput()
    files = {"package.json": package(build="x", dependencies=ONE), "package-lock.json": lock()}
    reason = await bench.refused(bench.wanted(bench.upload(files)), said)
    assert reason == "npm ci ended with exit code 1"
    assert "npm ci" in said.text
    assert "in sync" in said.text


@pytest.mark.parametrize(
    ("files", "output"),
    [
        ({"dist/index.html": "d", "public/favicon.ico": "p"}, {"index.html": b"d"}),
        ({"_site/index.html": "s"}, {"index.html": b"s"}),
        ({"stead.json": '{"output": "web/out"}', "web/out/a": "1", "dist/b": "2"}, {"a": b"1"}),
        ({"index.html": "i", "css/a.css": "c"}, {"index.html": b"i", "css/a.css": b"c"}),
        ({"top/index.html": "i"}, {"index.html": b"i"}),
        ({"stead.json": '{"output": "."}', "index.html": "i"}, None),
    ],
)
async def test_the_output_directory_is_configured_or_found_by_convention(
    bench: BuildHarness, files: dict[str, str], output: dict[str, bytes] | None
) -> None:
    wanted = bench.wanted(bench.upload(files))
    await bench.build(wanted)
    expected = output or {name: text.encode() for name, text in files.items()}
    if rules := files.get("stead.json"):
        expected = {**expected, "stead.json": rules.encode()}
    assert bench.layer(wanted) == expected, "rules in the root of the project belong to the site"


async def test_stead_json_may_name_another_script(bench: BuildHarness) -> None:
    files = {
        "package.json": package(build="exit 1", site="mkdir out && echo made > out/index.html"),
        "stead.json": json.dumps({"build": "site", "spa": "yes", "redirects": 7, "headers": [{}]}),
    }
    wanted = bench.wanted(bench.upload(files))
    await bench.build(wanted)
    assert bench.layer(wanted) == {"index.html": b"made\n", "stead.json": files["stead.json"].encode()}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (scripted("0"), "no output directory: none of dist, build, out, _site, public is there after the"),
        ({"stead.json": '{"output": "../.."}', "a": "b"}, "the output directory ../.. leaves the source"),
        ({"stead.json": '{"output": "/etc"}', "a": "b"}, "the output directory /etc leaves the source"),
        ({"stead.json": '{"output": "web"}', "a": "b"}, "the output directory web is not there"),
        ({"stead.json": '{"outptu": "web"}', "a": "b"}, 'stead.json: there is no setting "outptu"'),
        (
            {"stead.json": '{"build": "no"}', "package.json": package()},
            "package.json has no script no, which",
        ),
        ({"package.json": "{", "a": "b"}, "package.json is not JSON"),
        (scripted("require('fs').symlinkSync('/etc', 'dist')"), "dist is not a directory, or lies behind a"),
        (
            scripted("const f=require('fs');f.mkdirSync('dist');f.symlinkSync('/etc/passwd','dist/a')"),
            "the site cannot be published: a: the link is absolute",
        ),
        (
            scripted("require('child_process').execSync('mkdir dist; touch dist/a; mkfifo dist/pipe')"),
            "the site cannot be published: pipe: it is neither a file nor a directory",
        ),
        ({}, "the source is empty"),
    ],
)
async def test_output_that_cannot_be_published_is_refused_with_the_reason(
    bench: BuildHarness, files: dict[str, str], reason: str
) -> None:
    assert (await bench.refused(bench.wanted(bench.upload(files)))).startswith(reason)
