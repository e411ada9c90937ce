"""Which file in the folder of a function is compiled."""

import json
from pathlib import Path

import pytest

from stead.node.builds.failures import BuildFailed
from stead.node.builds.function_projects import find_sources
from stead.protocol.work.builds import FunctionLanguage


def _folder(root: Path, *names: str, **contents: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents.get(name, ""))
    return root


@pytest.mark.parametrize(
    ("language", "names", "filename", "expected"),
    [
        ("javascript", ["index.js", "helper.js"], "", ["index.js"]),
        ("javascript", ["index.js", "helper.js"], "helper.js", ["helper.js"]),
        ("typescript", ["src/index.ts", "src/more.ts"], "", ["src/index.ts"]),
        ("rust", ["src/lib.rs", "Cargo.toml"], "", ["src/lib.rs"]),
        ("go", ["main.go", "other.go"], "", ["main.go"]),
        ("c", ["main.c", "b.c", "a.c", "a.h"], "", ["main.c", "a.c", "b.c"]),
        ("c", ["src/main.c", "src/a.c", "b.c"], "", ["src/main.c", "src/a.c"]),
        ("zig", ["function.zig", "main.zig"], "", ["function.zig"]),
    ],
)
def test_the_first_file_is_found_by_its_name(
    tmp_path: Path, language: FunctionLanguage, names: list[str], filename: str, expected: list[str]
) -> None:
    assert find_sources(_folder(tmp_path, *names), language, filename) == expected


def test_a_package_names_its_first_file(tmp_path: Path) -> None:
    _folder(tmp_path, "index.js", "lib/start.js")
    (tmp_path / "package.json").write_text(json.dumps({"main": "./lib/start.js"}))
    assert find_sources(tmp_path, "javascript", "") == ["lib/start.js"]


@pytest.mark.parametrize("main", ["/etc/passwd", "../outside.js", "missing.js", "", 5, None, ["index.js"]])
def test_a_package_cannot_name_what_is_not_in_it(tmp_path: Path, main: object) -> None:
    (tmp_path / "outside.js").touch()
    root = _folder(tmp_path / "folder", "index.js")
    (root / "package.json").write_text(json.dumps({"main": main}))
    assert find_sources(root, "javascript", "") == ["index.js"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    root = _folder(tmp_path / "folder", "notes.txt")
    (tmp_path / "index.js").touch()
    (root / "index.js").symlink_to(tmp_path / "index.js")
    (root / "src").symlink_to(tmp_path)
    with pytest.raises(BuildFailed):
        find_sources(root, "javascript", "")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"index\.js"):
        find_sources(tmp_path, "javascript", "")
    with pytest.raises(BuildFailed, match=r"start\.js"):
        find_sources(tmp_path, "javascript", "start.js")
    (tmp_path / "package.json").write_text("{")
    with pytest.raises(BuildFailed, match=r"package\.json"):
        find_sources(tmp_path, "javascript", "")
