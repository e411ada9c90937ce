"""What `stead deploy` packs: what git would, without what leads outside."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from stead_cli.packing import list_files, pack

FILES = (
    "index.html",
    "node_modules/x/y.js",
    "sub/node_modules/z.js",
    "build/out.js",
    "sub/build/keep.js",
    "a.log",
    "sub/b.log",
    "sub/important.log",
    "docs/deep/er/draft.md",
    "docs/draft.md",
    "tmp/1/x",
    "tmp/2",
    "#odd",
    "sp ace.txt",
    "data/a1.csv",
    "data/b2.csv",
    "sub/only/here.txt",
)
RULES = """
# comment
node_modules/
/build
*.log
!important.log
docs/**/draft.md
tmp/*
\\#odd
data/[a]?.csv
sp\\ ace.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    for name in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (root / ".gitignore").write_text(RULES)
    (root / "sub" / ".gitignore").write_text("/only\n")
    return root


def names(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in list_files(root)}


def test_it_packs_what_git_would(folder: Path):
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard", "-z"], check=True, capture_output=True, text=True
    )
    assert names(folder) == set(listed.stdout.split("\0")) - {""}


def test_steadignore_has_the_last_word(folder: Path):
    (folder / ".steadignore").write_text("!a.log\nsub/\n")
    found = names(folder)
    assert "a.log" in found
    assert not any(name.startswith("sub/") for name in found)


def test_links_that_lead_outside_are_left_out(folder: Path, tmp_path: Path):
    (tmp_path / "secret").write_text("secret")
    (folder / "out").symlink_to("../secret")
    (folder / "absolute").symlink_to(folder / "index.html")
    (folder / "inside").symlink_to("index.html")
    (folder / "loop").symlink_to(".")
    found = names(folder)
    assert {"out", "absolute"} & found == set()
    assert "inside" in found


def test_the_archive_says_nothing_about_its_maker(folder: Path, tmp_path: Path):
    packed = pack(folder, tmp_path / "site.tar.gz")
    with tarfile.open(tmp_path / "site.tar.gz") as opened:
        entries = opened.getmembers()
    assert packed.files == len(entries) == len(names(folder))
    assert {(entry.uid, entry.uname) for entry in entries} == {(0, "")}
