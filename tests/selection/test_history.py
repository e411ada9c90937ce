"""What counts as changed, in repositories made for the test."""

import subprocess
from pathlib import Path

import pytest

from tests.selection.history import LANDED, LAST_COMMITS, NoHistory, change_since, find_change, git

AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.run("init", "--quiet", "--initial-branch=main")

    def run(self, *words: str) -> str:
        return git(self.path, *AUTHOR, *words)

    def commit(self, *files: str) -> str:
        for file in files:
            (self.path / file).write_text(f"{file} {self.run('rev-list', '--all', '--count')}")
        self.run("add", "--all")
        self.run("commit", "--quiet", "--message=A change")
        return self.run("rev-parse", "HEAD")

    def land(self) -> None:
        """What is committed so far is the upstream branch."""
        self.run("update-ref", "refs/remotes/origin/main", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_every_commit_since_the_last_landing_counts_as_changed(repository: Repository) -> None:
    base = repository.commit("one")
    repository.land()
    repository.commit("two")
    repository.commit("three")
    change = find_change(repository.path)
    assert (change.base, change.files) == (base, frozenset({"two", "three"}))
    assert list(change.commits) == [2, 3]
    assert "the merge base with origin/main" in change.reason


def test_what_landed_meanwhile_does_not_count_as_changed(repository: Repository) -> None:
    base = repository.commit("one")
    repository.run("switch", "--quiet", "--create", "work")
    repository.commit("mine")
    repository.run("switch", "--quiet", "main")
    repository.commit("of somebody else")
    repository.land()
    repository.run("switch", "--quiet", "work")
    change = find_change(repository.path)
    assert (change.base, change.files) == (base, frozenset({"mine"}))


def test_without_an_upstream_branch_the_commit_that_landed_last_is_read_from_a_file(
    repository: Repository,
) -> None:
    base = repository.commit("one")
    (repository.path / ".ci").mkdir()
    (repository.path / LANDED).write_text(f"{base}\n")
    repository.commit("two")
    repository.commit("three")
    change = find_change(repository.path)
    assert (change.base, change.files) == (base, frozenset({LANDED, "two", "three"}))
    assert list(change.commits) == [3]


@pytest.mark.parametrize("content", ["", "main", "--all", "0" * 40])
def test_a_file_that_names_no_earlier_commit_is_ignored(repository: Repository, content: str) -> None:
    base = repository.commit("one")
    (repository.path / ".ci").mkdir()
    (repository.path / LANDED).write_text(content)
    repository.commit("two")
    change = find_change(repository.path)
    assert (change.base, change.files) == (base, frozenset({LANDED, "two"}))


def test_files_that_are_not_committed_count_as_changed(repository: Repository) -> None:
    repository.commit("one", "two")
    repository.land()
    repository.commit("three")
    (repository.path / "one").write_text("edited")
    (repository.path / "new").write_text("untracked")
    assert find_change(repository.path).files == {"one", "three", "new"}


def test_both_names_of_a_renamed_file_count_as_changed(repository: Repository) -> None:
    repository.commit("one")
    repository.land()
    repository.run("mv", "one", "two")
    repository.run("commit", "--quiet", "--message=Rename")
    assert find_change(repository.path).files == {"one", "two"}


def test_without_an_upstream_branch_the_last_commits_count(repository: Repository) -> None:
    for number in range(LAST_COMMITS + 5):
        repository.commit(f"file-{number}")
    change = find_change(repository.path)
    assert change.files == {f"file-{number}" for number in range(5, LAST_COMMITS + 5)}
    assert list(change.commits) == [LAST_COMMITS + 5]
    assert "no upstream branch is known" in change.reason


def test_on_a_commit_that_has_landed_the_last_commits_count(repository: Repository) -> None:
    repository.commit("one")
    repository.commit("two")
    repository.land()
    change = find_change(repository.path)
    assert change.files == {"two"}
    assert "HEAD is part of origin/main already" in change.reason


def test_the_change_since_a_named_commit(repository: Repository) -> None:
    base = repository.commit("one")
    repository.commit("two")
    assert change_since(base, "for the test", repository.path).files == {"two"}


def test_a_directory_that_is_no_clone_has_no_history(tmp_path: Path) -> None:
    with pytest.raises(NoHistory):
        find_change(tmp_path)


def test_an_empty_repository_has_no_history(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)  # noqa: S607
    with pytest.raises(NoHistory):
        find_change(tmp_path)
