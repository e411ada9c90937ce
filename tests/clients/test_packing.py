"""What `stead deploy` packs: what git would, without what leads outside."""

import shutil
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


def listed_by_git(repository: Path, folder: Path) -> set[str]:
    git = shutil.which("git") or "git"
    subprocess.run([git, "-C", str(repository), "init", "--quiet"], check=True)
    listed = subprocess.run(
        [git, "-C", str(folder), "ls-files", "--others", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(listed.stdout.split("\0")) - {""}


def test_it_packs_what_git_would(folder: Path):
    assert names(folder) == listed_by_git(folder, folder)


@pytest.mark.parametrize(
    "rule",
    [
        *("[z-a].csv", "data/[[:alpha:]][[:digit:]].csv", "data/[!a]*.csv", "data/[^]b]?.csv", "[a"),
        *("*/**/draft.md", "**/only", "docs/**", "data/[a-b][1]*", "data/[[:odd:]]*", "**.md"),
        *("s*b/*o*t*.l*g", "tmp/**/x", "su?/", "[", "data/a\\1.csv", "tmp/1\r", "sub*", "data/[\\a]1.csv"),
    ],
)
def test_it_reads_patterns_as_git_does(folder: Path, rule: str):
    (folder / ".gitignore").write_text(f"{rule}\n")
    assert names(folder) == listed_by_git(folder, folder)


def test_a_pattern_with_many_stars_takes_no_time(folder: Path):
    (folder / ".gitignore").write_text("**/" * 40 + "*a" * 40 + "b\n" + "**/x/" * 20 + "y\n")
    deep = folder.joinpath("a" * 200, *["x"] * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).touch()
    assert "index.html" in names(folder)


def test_rules_of_the_repository_are_also_about_its_folders(folder: Path):
    public = folder / "public"
    (public / "private").mkdir(parents=True)
    for name in ("index.html", "dump.sql", "private/notes.txt"):
        (public / name).write_text(name)
    (folder / ".gitignore").write_text("*.sql\n/public/private\n")
    assert listed_by_git(folder, public) == names(public) == {"index.html"}


@pytest.mark.parametrize("rule", ["public", "/public/", "/public/*", "public/**"])
def test_a_folder_that_git_ignores_can_be_published(folder: Path, rule: str):
    public = folder / "public"
    public.mkdir()
    for name in ("index.html", "dump.sql"):
        (public / name).write_text(name)
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text(f"*.sql\n{rule}\n")
    assert names(public) == {"index.html"}


def test_a_second_name_of_a_file_is_another_file(folder: Path, tmp_path: Path):
    (folder / "second.html").hardlink_to(folder / "index.html")
    pack(folder, tmp_path / "site.tar.gz")
    with tarfile.open(tmp_path / "site.tar.gz") as opened:
        assert {each.type for each in opened.getmembers()} == {tarfile.REGTYPE}
        for name in ("index.html", "second.html"):
            content = opened.extractfile(name)
            assert content is not None
            assert content.read() == b"index.html"


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
