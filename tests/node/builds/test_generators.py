"""Generators are recognized by the files of a project, and stead.json has the last word."""

import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from stead.artifacts.site_rules.site_file import GeneratorName, SiteFile
from stead.node.builds import generators
from stead.node.builds.failures import BuildFailed
from stead.node.builds.projects import ProjectSettings, find_output, plan_build
from tests.node.builds.projects import lock, package

LOCK = {"package-lock.json": "{}"}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def needs(*packages: str, **scripts: str) -> dict[str, str]:
    return {"package.json": package(dependencies=dict.fromkeys(packages, "1.0.0"), **scripts), **LOCK}


@pytest.mark.parametrize(
    ("files", "generator", "command", "image"),
    [
        (needs("vite"), "vite", "npm exec --no -- vite build", "static"),
        (needs("vite", build="vite build --base /x"), "vite", "npm run build", "static"),
        (needs("astro", "vite"), "astro", "npm exec --no -- astro build", "static"),
        (needs("next", "react"), "next", "npm exec --no -- next build", "static"),
        (needs("vite", "@sveltejs/kit"), "sveltekit", "npm exec --no -- vite build", "static"),
        (needs("@11ty/eleventy"), "eleventy", "npm exec --no -- eleventy", "static"),
        (needs("is-number"), None, None, "static"),
        ({"hugo.toml": ""}, "hugo", "hugo", "hugo"),
        ({"config.toml": "", "content/a.md": "a"}, "hugo", "hugo", "hugo"),
        ({"config.toml": "", "index.html": "a"}, None, None, "static"),
        ({"_config.yml": ""}, "jekyll", "jekyll build", "jekyll"),
        ({"mkdocs.yml": ""}, "mkdocs", "mkdocs build", "python"),
        ({"mkdocs.yml": "", "requirements.txt": "zensical==0.0.9\n"}, "zensical", "zensical build", "python"),
        (
            {"zensical.toml": "", "requirements.txt": "zensical==0.0.9"},
            "zensical",
            "zensical build",
            "python",
        ),
        # A project with a script of its own knows best; packages for other purposes do not matter.
        ({"hugo.toml": "", **needs("is-number", build="node x.js")}, None, "npm run build", "static"),
        ({"hugo.toml": "", **needs("postcss")}, "hugo", "hugo", "hugo"),
    ],
)
def test_a_generator_is_recognized_with_its_command_and_image(
    tmp_path: Path, files: dict[str, str], generator: str | None, command: str | None, image: str
) -> None:
    plan = plan_build(write(tmp_path, files))
    assert (plan.generator.name if plan.generator else None) == generator
    assert (plan.command.shown if plan.command else None) == command
    assert plan.image == image


@pytest.mark.parametrize(
    ("settings", "files", "command", "generator"),
    [
        ({"command": "hugo --minify"}, {"hugo.toml": ""}, "hugo --minify", "hugo"),
        ({"command": "vite build --mode x"}, needs("vite"), "vite build --mode x", "vite"),
        ({"generator": "hugo"}, {"site.toml": ""}, "hugo", "hugo"),
        ({"generator": "none"}, {"_config.yml": ""}, None, None),
    ],
)
def test_stead_json_replaces_what_is_recognized(
    tmp_path: Path,
    settings: dict[str, str],
    files: dict[str, str],
    command: str | None,
    generator: str | None,
) -> None:
    plan = plan_build(write(tmp_path, {"stead.json": json.dumps(settings), **files}))
    assert (plan.command.shown if plan.command else None) == command
    assert (plan.generator.name if plan.generator else None) == generator


@pytest.mark.parametrize(
    "name", ["next", "sveltekit", "astro", "eleventy", "vite", "hugo", "jekyll", "mkdocs"]
)
def test_the_usual_folder_of_the_generator_comes_before_other_names(tmp_path: Path, name: str) -> None:
    generator = generators.GENERATORS[name]
    others = {f"{folder}/index.html": folder for folder in ("dist", "build", "public", generator.output)}
    root = write(tmp_path, {"stead.json": json.dumps({"generator": name}), **others})
    assert find_output(root, plan_build(root)) == root / generator.output


def test_a_generator_that_writes_no_static_files_is_explained(tmp_path: Path) -> None:
    root = write(tmp_path, needs("next"))
    with pytest.raises(BuildFailed, match=r'Next\.js wrote no folder out: set output: "export"'):
        find_output(root, plan_build(root))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"stead.json": '{"output": 7}'}, "stead.json: output must be text"),
        ({"stead.json": '{"watch": [1]}'}, "stead.json: watch.0 must be text"),
        ({"stead.json": "[]"}, "stead.json: the document must be an object"),
        ({"package.json": '{"scripts": {"build": true}}'}, "package.json: scripts.* must be text"),
        ({"stead.json": '{"generator": "gatsby"}'}, "names the generator gatsby: use one of next, sveltekit"),
        ({"stead.json": '{"root": "apps/missing"}'}, "the source has no directory apps/missing"),
        ({"stead.json": '{"root": "../other"}'}, "leaves the source"),
        ({"mkdocs.yml": "", "requirements.txt": "mkdocs>=1.5\n"}, "has mkdocs>=1.5 without an exact version"),
        ({"mkdocs.yml": "", "requirements.txt": "mkdocs"}, "without an exact version"),
        ({"zensical.toml": ""}, "there is no requirements.txt"),
    ],
)
def test_what_cannot_be_built_is_explained(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    with pytest.raises(BuildFailed, match=reason):
        plan_build(write(tmp_path, files))


def test_requirements_may_have_hashes_markers_and_comments(tmp_path: Path) -> None:
    text = (
        "# docs\nmkdocs==1.6.1 \\\n  --hash=sha256:abc\n"
        "Markdown==3.7 ; python_version > '3.8'  # why\n-r more.txt\n"
    )
    write(tmp_path, {"requirements.txt": text})
    assert generators.read_requirements(tmp_path) == {"mkdocs", "markdown"}


def test_a_project_in_a_folder_uses_its_own_lock_file_and_settings(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "stead.json": '{"root": "apps/web", "output": "elsewhere"}',
            "apps/web/package.json": package(build="x", dependencies={"vite": "1"}),
            "apps/web/package-lock.json": lock(),
            "apps/web/stead.json": '{"output": "made"}',
            "apps/web/made/index.html": "x",
            "package.json": package(dependencies={"other": "1"}),
            "yarn.lock": "",
        },
    )
    plan = plan_build(root)
    assert plan.command is not None
    assert (plan.directory, plan.install_in, plan.manager.name) == ("apps/web", "apps/web", "npm")
    assert (plan.command.directory, plan.output) == ("apps/web", "made")
    assert plan.relevant == ("apps/web", "stead.json")
    assert find_output(root, plan) == root / "apps/web/made"


@pytest.mark.parametrize(
    ("watch", "relevant"),
    [
        ([], None),
        (["packages/ui"], ("apps/web", "package-lock.json", "package.json", "packages/ui", "stead.json")),
    ],
)
def test_a_workspace_is_installed_in_the_top_folder(
    tmp_path: Path, watch: list[str], relevant: tuple[str, ...] | None
) -> None:
    workspaces = json.dumps({"private": True, "workspaces": ["apps/*", "packages/*"]})
    files = {
        "stead.json": json.dumps({"root": "apps/web", "watch": watch}),
        "package.json": workspaces,
        "package-lock.json": lock(),
        "apps/web/package.json": package(build="x", dependencies={"vite": "1"}),
    }
    plan = plan_build(write(tmp_path, files))
    assert (plan.install_in, plan.directory) == ("", "apps/web")
    assert plan.relevant == relevant, "everything, unless the project says what it needs"


@pytest.mark.parametrize(
    ("watch", "relevant"), [([], None), (["content"], ("apps/docs", "content", "mkdocs.in", "stead.json"))]
)
def test_a_generator_without_packages_may_read_folders_beside_its_own(
    tmp_path: Path, watch: list[str], relevant: tuple[str, ...] | None
) -> None:
    files = {
        "stead.json": json.dumps({"root": "apps/docs", "watch": watch}),
        "mkdocs.in": "",
        "apps/docs/mkdocs.yml": "docs_dir: ../../content",
    }
    assert plan_build(write(tmp_path, files)).relevant == relevant


@pytest.mark.parametrize(
    ("target", "leaves"),
    [("../../../shared", True), ("/work/source/shared", True), ("../main.css", False), ("a/../b", False)],
)
def test_a_link_that_leaves_the_root_makes_everything_relevant(
    tmp_path: Path, target: str, leaves: bool
) -> None:
    root = write(tmp_path, {"stead.json": '{"root": "apps/web"}', "apps/web/css/a.css": ""})
    (root / "apps/web/css/linked").symlink_to(target)
    assert (plan_build(root).relevant is None) == leaves


def test_a_variable_of_the_environment_names_another_root(tmp_path: Path) -> None:
    files = {"stead.json": '{"root": "apps/web"}', "apps/web/a": "", "apps/docs/mkdocs.yml": ""}
    assert plan_build(write(tmp_path, files), "apps/docs").generator is generators.MKDOCS


@pytest.mark.parametrize("root", ["./apps/web", "apps//web/", "/apps/web", "apps/./web"])
def test_paths_are_compared_as_git_writes_them(tmp_path: Path, root: str) -> None:
    settings = json.dumps({"root": root, "watch": ["./packages/ui/"]})
    plan = plan_build(write(tmp_path, {"stead.json": settings, "apps/web/index.html": ""}))
    assert plan.relevant == ("apps/web", "packages/ui", "stead.json")


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    root = write(tmp_path, {"stead.json": '{"root": "web"}'})
    (root / "web").symlink_to("/etc")
    with pytest.raises(BuildFailed, match="behind a link"):
        plan_build(root)


def test_the_published_schema_has_every_setting_and_every_generator() -> None:
    published, read = (
        {field.encode_name for field in msgspec.structs.fields(kind)} for kind in (SiteFile, ProjectSettings)
    )
    assert published == read
    assert set(get_args(GeneratorName)) == set(generators.NAMES)
