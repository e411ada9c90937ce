"""How git-managed WordPress sites are built: what becomes the release, and what is refused."""

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from stead.node.builds.assembly import cms_builder
from stead.node.builds.cms_builder import CmsBuilder
from stead.node.builds.composer_files import read_php_requirements
from stead.node.builds.failures import BuildFailed
from stead.node.builds.wordpress_projects import MadeRelease, make_release, plan_build
from stead.node.images.image_store import ImageStore
from stead.node.processes import Processes
from stead.node.wordpress.release_layout import FILE, ReleaseLayout, read_layout
from stead.protocol.work import ArchiveSource, Build, GitSource, PhpRequirement
from tests.node.builds.build_harness import BuildHarness, CapturedOutput
from tests.node.builds.wordpress_sites import CHILD, THEME, composer_site, core, theme

WORDPRESS = ReleaseLayout(stylesheet="own", template="own")
PLUGIN = {"plugins/greeting.php": "<?php /* Plugin Name: Greeting */"}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def made(scratch: Path, files: dict[str, str]) -> tuple[MadeRelease, set[str]]:
    """The release of a project, and the files in it."""
    root = write(scratch / "src", files)
    release = scratch / "release"
    found = make_release(root, plan_build(root), release)
    assert read_layout(release) == found.layout
    return found, {str(path.relative_to(release)) for path in release.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("files", "left_out"),
    [
        (theme() | {"README.md": "", ".env": "", "package.json": "{}"}, 0),
        (theme() | core() | {"wp-config.php": "<?php"}, 1),
        ({name.removeprefix("wp-content/"): content for name, content in theme().items()}, 0),
        (theme("public/wp-content") | core("public/"), 1),
        (theme("web/app") | core("web/wp/"), 1),
        (theme("code/content") | {"stead.json": '{"output": "code/content"}'}, 0),
        (theme() | {"wp-content/uploads/2020/picture.jpg": "old"}, 1),
        (theme() | {"composer.json": '{"require-dev": {"acme/tool": "*"}}'}, 0),
    ],
    ids=["content", "full", "top", "public", "bedrock", "named", "uploads", "tools"],
)
def test_each_layout_gives_the_same_release(tmp_path: Path, files: dict[str, str], left_out: int):
    release, names = made(tmp_path, files)
    assert release.layout == WORDPRESS
    assert names - {"wp-content/stead.json"} == {FILE, *theme()}
    assert len(release.left_out) == left_out
    assert (tmp_path / "release/wp-content/uploads").is_dir()


def test_a_release_says_which_php_its_code_requires(tmp_path: Path):
    _, names = made(tmp_path, theme() | {"composer.json": '{"require": {"php": "^8.2"}}'})
    assert names == {FILE, "composer.json", *theme()}
    assert read_php_requirements(tmp_path / "release") == (PhpRequirement("^8.2"),)


def test_the_requirements_of_all_packages_are_reported_each_once(tmp_path: Path):
    packages = [
        {"name": "acme/a", "require": {"PHP": "~8.2.0", "ext-gd": "*"}},
        {"name": "acme/b", "require": {"php": "^8.1"}},
        {"name": "acme/c", "require": {"php": "~8.2.0", "php-64bit": ">=8"}},
        {"name": "acme/long", "require": {"php": "8" * 300}},
    ]
    lock = json.dumps({"packages": packages, "platform": {"php": ">=7"}})
    write(tmp_path, {"composer.json": '{"require": {"php": "^8.1"}}', "composer.lock": lock})
    assert read_php_requirements(tmp_path) == (
        PhpRequirement("^8.1"),
        PhpRequirement("~8.2.0", "acme/a"),
        PhpRequirement(">=8", "acme/c"),
    )
    (tmp_path / "composer.json").unlink()
    assert read_php_requirements(tmp_path)[0] == PhpRequirement(">=7")


@pytest.mark.parametrize(
    "lock",
    [
        *(
            "",
            "[]",
            "{",
            '{"packages": 1}',
            '{"packages": [{"require": {"php": 8}}]}',
            '{"platform": []}',
            "\0",
        ),
        pytest.param(
            '{"packages": [{"require": {"php": "8.2\\u0000"}}]}', id="a value that cannot be stored"
        ),
        pytest.param('{"packages": [{"require": {"a": ' + "[" * 200_000, id="nested deeply"),
        pytest.param('{"packages": [' + "{}," * 800_000 + "{}]}", id="large"),
    ],
)
def test_files_that_cannot_be_read_require_nothing(tmp_path: Path, lock: str):
    write(tmp_path, {"composer.lock": lock})
    assert read_php_requirements(tmp_path) == ()
    (tmp_path / "composer.json").symlink_to("/etc/passwd")
    assert read_php_requirements(tmp_path) == ()


def test_with_an_autoloader_everything_keeps_its_place_except_wordpress_and_hidden_files(tmp_path: Path):
    files = composer_site() | {"vendor/autoload.php": "<?php", "node_modules/x/index.js": ""}
    release, names = made(tmp_path, files)
    assert release.layout == ReleaseLayout("web/app", "vendor/autoload.php", "own", "own")
    assert {"vendor/autoload.php", "src/Words.php", "web/app/themes/own/index.php"} <= names
    assert not [name for name in names if name.startswith((".env", "node_modules", "web/wp/wp-"))]


def test_the_theme_of_a_site_is_its_child_theme(tmp_path: Path):
    orphan = {"wp-content/themes/a-orphan/style.css": "/*\nTheme Name: A\nTemplate: missing\n*/"}
    child = {"wp-content/themes/zz-child/style.css": CHILD}
    release, _ = made(tmp_path, theme() | child | orphan)
    assert (release.layout.stylesheet, release.layout.template) == ("zz-child", "own")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"index.html": "static"}, "no WordPress code was found: none of wp-content, web/app,"),
        ({"style.css": THEME, "index.php": ""}, "no WordPress code was found"),
        ({"wp-content/plugins/x.php": "<?php"}, "there is no theme"),
        (theme() | {"stead.json": '{"output": "../../etc"}'}, "leaves the source"),
        (theme() | {"stead.json": '{"output": "elsewhere"}'}, "which stead.json names, has no plugins"),
        ({"composer.json": '{"require": {"acme/x": "*"}}'}, "commit composer.lock"),
        ({"composer.json": '{"require": []}', "composer.lock": "{}"}, "require must be an object"),
        ({"composer.json": "{"}, "composer.json is not JSON"),
    ],
)
def test_what_cannot_be_built_is_refused_with_advice(tmp_path: Path, files: dict[str, str], reason: str):
    with pytest.raises(BuildFailed) as failed:
        made(tmp_path, files)
    assert reason in str(failed.value)


@pytest.mark.parametrize("name", ["wp-content", "wp-content/themes", "wp-content/themes/own/style.css"])
def test_links_are_never_followed(tmp_path: Path, name: str):
    outside = write(tmp_path / "outside", theme())
    root = write(tmp_path / "src", {"README.md": ""})
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(outside / name)
    with pytest.raises(BuildFailed):
        make_release(root, plan_build(root), tmp_path / "release")
    assert (outside / "wp-content/themes/own/style.css").exists()


def test_linked_uploads_and_a_linked_description_are_replaced(tmp_path: Path):
    outside = write(tmp_path / "outside", {"kept.txt": "kept"})
    root = write(tmp_path / "src", theme())
    (root / "wp-content/uploads").symlink_to(outside)
    (root / FILE).symlink_to(outside / "kept.txt")
    make_release(root, plan_build(root), tmp_path / "release")
    assert (outside / "kept.txt").read_text() == "kept"
    assert not (tmp_path / "release/wp-content/uploads").is_symlink()


# Builds in the sandbox.


@pytest.fixture(scope="module")
def builder(bench: BuildHarness) -> CmsBuilder:
    ImageStore().ensure("composer")
    run = Processes("cms-builder-tests").run
    return cms_builder(bench.settings(), run, bench.home, bench.builder())


def wanted(bench: BuildHarness, source: GitSource | ArchiveSource) -> Build:
    return msgspec.structs.replace(bench.wanted(source), builder="cms")


async def test_a_repository_is_built_as_it_is(bench: BuildHarness, builder: CmsBuilder):
    bench.repositories.repository(
        "plain", theme() | core() | {f"wp-content/{k}": v for k, v in PLUGIN.items()}
    )
    said, work = CapturedOutput(), wanted(bench, bench.git("plain"))
    result = await bench.build(work, said, builder)
    layer = bench.layer(work)
    assert set(layer) == {FILE, *theme(), "wp-content/plugins/greeting.php"}
    assert msgspec.json.decode(layer[FILE], type=ReleaseLayout) == WORDPRESS
    assert result.commit
    assert "no composer.lock: the files are used as they are" in said.text
    assert "left out: WordPress in the top directory: the platform provides it" in said.text


SPY = """<?php
echo 'user ', posix_geteuid() ?: 'root', PHP_EOL;
foreach (['/var/lib/stead', '/proc/1/root/etc/shadow', '/run/docker.sock'] as $path) {
    echo $path, @file_exists($path) && @is_readable($path) ? ' open' : ' closed', PHP_EOL;
}
echo @fsockopen('127.0.0.1', 22, $code, $text, 1) ? 'network open' : 'network closed', PHP_EOL;
symlink('/etc/passwd', 'web/app/plugins-link');
unlink('web/app/plugins-link');
"""


async def test_composer_and_its_scripts_run_in_the_sandbox(bench: BuildHarness, builder: CmsBuilder):
    files = composer_site({"post-install-cmd": ["@php spy.php"]}) | {
        "spy.php": SPY.replace("posix_geteuid()", "getmyuid()")
    }
    said, work = CapturedOutput(), wanted(bench, bench.upload(files))
    result = await bench.build(work, said, builder)
    assert result.php == (PhpRequirement(">=8.0"),)
    layer = bench.layer(work)
    layout = msgspec.json.decode(layer[FILE], type=ReleaseLayout)
    assert layout == ReleaseLayout("web/app", "vendor/autoload.php", "own", "own")
    assert {"vendor/autoload.php", "vendor/acme/greeting/greeting.php", "src/Words.php"} <= set(layer)
    assert not [name for name in layer if name.startswith((".env", "web/wp/wp-"))]
    assert "install: composer install" in said.text
    assert "open" not in [line.rpartition(" ")[2] for line in said.lines]
    assert "root" not in [line.rpartition(" ")[2] for line in said.lines]


async def test_a_failing_composer_and_links_out_of_the_release_fail_the_build(
    bench: BuildHarness, builder: CmsBuilder
):
    unlocked = composer_site(packages=[])
    reason = await bench.refused(wanted(bench, bench.upload(unlocked)), builder=builder)
    assert reason == "composer install --no-dev ended with exit code 4"
    script = "@php -r \"symlink('/etc/passwd', 'web/app/themes/own/passwd.php');\""
    linked = composer_site({"post-install-cmd": [script]})
    reason = await bench.refused(wanted(bench, bench.upload(linked)), builder=builder)
    assert reason.startswith("the site cannot be published:")


async def test_a_tree_that_is_too_large_or_too_deep_fails_the_build(bench: BuildHarness, builder: CmsBuilder):
    program = "for (;;) if (@file_put_contents('big', str_repeat('x', 1 << 24), 8) < 1 << 24) exit(1);"
    fill = f'@php -r "{program}"'
    reason = await bench.refused(
        wanted(bench, bench.upload(composer_site({"post-install-cmd": [fill]}))), builder=builder
    )
    assert reason == "composer install --no-dev failed: its disk is full; the limit is 256 MB"
    deep = "<?php chdir('web/wp/wp-includes'); for ($i = 0; $i < 600; $i++) { mkdir('d'); chdir('d'); }"
    files = composer_site({"post-install-cmd": ["@php deep.php"]}) | {"deep.php": deep}
    reason = await bench.refused(wanted(bench, bench.upload(files)), builder=builder)
    assert reason == "the directories are nested deeper than 256 levels"


async def test_without_the_image_of_composer_only_projects_that_need_it_are_refused(
    bench: BuildHarness, builder: CmsBuilder
):
    without = dataclasses.replace(builder, find_composer=lambda: None)
    reason = await bench.refused(wanted(bench, bench.upload(composer_site())), builder=without)
    assert reason == "this node cannot run Composer: it does not have the image composer"
    await bench.build(wanted(bench, bench.upload(theme())), builder=without)
