"""What has changed since the last landing, according to git alone."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANDED = ".ci/landed"
"""Contains the commit that landed last. Whoever begins new work writes it, because a clone of what is about
to land has no upstream branch. An older commit is harmless: more tests run."""
LAST_COMMITS = 20
"""How many commits count as changed when the last landing is unknown."""


class NoHistory(Exception):
    """This is not a clone, or git is not installed."""


@dataclass(frozen=True)
class Change:
    base: str
    """The commit that the tree is compared with."""
    reason: str
    """Why it is this commit."""
    commits: range
    """The numbers of the commits since then, counted along the first parents."""
    files: frozenset[str]
    """Paths that differ, including uncommitted and untracked files."""


def find_change(root: Path = ROOT) -> Change:
    """The change since the merge base with the upstream branch. Without one, or when HEAD has landed already,
    the change since the commit in `.ci/landed`, or the change of the last commits."""
    head = git(root, "rev-parse", "HEAD")
    for branch in _upstream_branches(root):
        base = git(root, "merge-base", "HEAD", branch)
        if base != head:
            return change_since(base, f"the merge base with {branch}", root)
        reason = f"HEAD is part of {branch} already"
        break
    else:
        reason = "no upstream branch is known"
    if (landed := _read_landed(root, head)) is not None:
        change = change_since(landed, f"{reason}, and {LANDED} names it", root)
    else:
        history = git(root, "rev-list", "--first-parent", f"--max-count={LAST_COMMITS + 1}", "HEAD").split()
        change = change_since(history[-1], f"{reason}, so the last {len(history) - 1} commits count", root)
    # The turns of all of them would be all tests, so the run takes that of the last one only.
    return Change(change.base, change.reason, change.commits[-1:], change.files)


def change_since(base: str, reason: str, root: Path = ROOT) -> Change:
    first, last = (_count(root, commit) for commit in (base, "HEAD"))
    committed = git(root, "diff", "--name-only", "--no-renames", base).splitlines()
    untracked = git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    numbers = range(first + 1, last + 1) or range(last, last + 1)
    return Change(base, reason, numbers, frozenset({*committed, *untracked}))


def git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), "-c", f"safe.directory={root}", *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoHistory(str(error)) from None


def _read_landed(root: Path, head: str) -> str | None:
    """None if the file is missing, or names no commit before this one."""
    try:
        landed = git(root, "rev-parse", "--verify", f"{(root / LANDED).read_text().strip()}^{{commit}}")
        git(root, "merge-base", "--is-ancestor", landed, head)
    except (OSError, NoHistory):
        return None
    return landed if landed != head else None


def _count(root: Path, commit: str) -> int:
    return int(git(root, "rev-list", "--count", "--first-parent", commit))


def _upstream_branches(root: Path) -> list[str]:
    """The default branch of `origin` first, then the `main` branch of any remote."""
    known = git(root, "for-each-ref", "--format=%(refname:short)", "refs/remotes").splitlines()
    main = [name for name in known if name.endswith("/main")]
    return sorted(main, key=lambda name: name != "origin/main")
