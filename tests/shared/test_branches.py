"""Names of git branches: which are valid, and which of them can be built."""

import pytest

from stead.shared.branches import is_branch_name, is_plain_branch_name


@pytest.mark.parametrize("name", ["main", "release/2.x", "feature/a-b_c", "a.b", "9", "_x"])
def test_an_ordinary_branch_name_is_valid(name: str):
    assert is_plain_branch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "-x",
            "/a",
            "a/",
            "a//b",
            "a..b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.lock/b",
            "a b",
            "a\n",
            "a~1",
        ),
        *("a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "\x7f", "ä", "a" * 201),
    ],
    ids=ascii,
)
def test_a_name_that_git_could_misread_is_not_a_branch_name(name: str):
    assert not is_plain_branch_name(name)


@pytest.mark.parametrize("name", ["ümläut", "分支", "feature/x!", "a@b", "x" * 200], ids=ascii)
def test_a_branch_name_may_use_any_readable_letters(name: str):
    assert is_branch_name(name)


@pytest.mark.parametrize("name", ["HEAD", "a./b", "a.lock/b", "@", "a\u202e", "x" * 201], ids=ascii)
def test_no_branch_has_a_name_that_git_reserves_or_people_cannot_read(name: str):
    assert not is_branch_name(name)
    assert not is_plain_branch_name(name)
