"""Ref advertisements of git servers: valid ones are parsed, all others are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.git.ref_advertisement import InvalidAdvertisement, parse_branches
from stead.control.git.rules import MAX_BRANCHES
from stead.shared.branches import is_plain_branch_name

A, B = "a" * 40, "b" * 40
CAPS = b"\0multi_ack side-band-64k agent=git/2.39"


def packet(line: bytes) -> bytes:
    return b"%04x%b" % (len(line) + 4, line)


def advertise(*refs: tuple[str, str], service: bytes = b"# service=git-upload-pack\n") -> bytes:
    lines = [f"{commit} {name}".encode() for commit, name in refs]
    if lines:
        lines[0] += CAPS
    return packet(service) + b"0000" + b"".join(packet(line + b"\n") for line in lines) + b"0000"


def test_branches_are_parsed_and_other_refs_are_left_out():
    data = advertise(
        (A, "HEAD"),
        (A, "refs/heads/main"),
        (B, "refs/heads/feature/x"),
        (B, "refs/pull/1/head"),
        (A, "refs/tags/v1"),
        (B, "refs/tags/v1^{}"),
    )
    assert parse_branches(data) == {"main": A, "feature/x": B}


def test_an_empty_repository_has_no_branches():
    assert parse_branches(advertise(("0" * 40, "capabilities^{}"))) == {}
    assert parse_branches(advertise()) == {}


def test_sha_256_commits_are_parsed():
    assert parse_branches(advertise(("c" * 64, "refs/heads/main"))) == {"main": "c" * 64}


def test_shallow_lines_are_ignored():
    data = packet(b"# service=git-upload-pack\n") + b"0000"
    data += (
        packet(f"{A} refs/heads/main".encode() + CAPS + b"\n") + packet(f"shallow {A}\n".encode()) + b"0000"
    )
    assert parse_branches(data) == {"main": A}


@pytest.mark.parametrize(
    "name",
    [
        *("refs/heads/-x", "refs/heads/../../etc", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.lock"),
        *("refs/heads/$(id)", "refs/heads/a;id", "refs/heads/a`id`", "refs/heads/ä", "refs/heads/"),
        "refs/heads/" + "a" * 300,
    ],
    ids=ascii,
)
def test_a_branch_with_a_hostile_name_is_left_out(name: str):
    assert parse_branches(advertise((A, "refs/heads/main"), (B, name))) == {"main": A}


GOOD = advertise((A, "HEAD"), (A, "refs/heads/main"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>hello</html>",
        f"{A}\trefs/heads/main\n".encode(),
        advertise((A, "refs/heads/main"), service=b"# service=git-receive-pack\n"),
        packet(b"# service=git-upload-pack\n"),
        packet(b"# service=git-upload-pack\n") + b"0000",
        GOOD[:-4],
        GOOD[:-5],
        GOOD + b"0000",
        GOOD + b"x",
        GOOD.replace(b"0000", b"0001", 1),
        GOOD.replace(CAPS, b""),
        packet(b"# service=git-upload-pack\n") + b"0000" + b"0004" + b"0000",
        packet(b"# service=git-upload-pack\n") + b"0000" + b"fffe" + b"a" * 100,
        packet(b"# service=git-upload-pack\n") + b"0000" + b"-001" + b"0000",
        packet(b"# service=git-upload-pack\n") + b"0000" + b" 1a0" + b"0000",
        advertise(("A" * 40, "refs/heads/main")),
        advertise(("a" * 39, "refs/heads/main")),
        advertise((A, "refs/heads/ma in")),
        advertise((A, "refs/heads/main\x1b[31m")),
        advertise((A, "refs/heads/main"), (B, "refs/heads/main")),
        advertise((A, "refs/heads/main"), ("c" * 64, "refs/heads/other")),
        advertise((A, "refs/heads/main"), (B, "refs/heads/x\0caps")),
        packet(b"# service=git-upload-pack\n") + b"0000" + packet(b"ERR access denied\n") + b"0000",
    ],
    ids=lambda data: repr(data[-40:]),
)
def test_an_invalid_advertisement_is_refused(data: bytes):
    with pytest.raises(InvalidAdvertisement):
        parse_branches(data)


def test_too_many_branches_are_refused():
    many = [(A, f"refs/heads/b{number}") for number in range(MAX_BRANCHES + 1)]
    assert len(parse_branches(advertise(*many[:-1]))) == MAX_BRANCHES
    with pytest.raises(InvalidAdvertisement):
        parse_branches(advertise(*many))


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes):
    with pytest.raises(InvalidAdvertisement):
        parse_branches(data)


@given(st.data())
def test_a_damaged_advertisement_adds_no_branch(draws: st.DataObject):
    damaged = bytearray(GOOD)
    position = draws.draw(st.integers(0, len(damaged) - 1))
    damaged[position] = draws.draw(st.integers(0, 255))
    try:
        found = parse_branches(bytes(damaged))
    except InvalidAdvertisement:
        return
    assert len(found) <= 1


_NAMES = st.lists(st.text("abcxyz-_./", min_size=1, max_size=20), unique=True, max_size=20)


@given(_NAMES)
def test_every_branch_with_an_accepted_name_is_found(names: list[str]):
    wanted = {name: A for name in names if is_plain_branch_name(name)}
    data = advertise((A, "HEAD"), *((A, f"refs/heads/{name}") for name in names))
    assert parse_branches(data) == wanted


def test_a_line_longer_than_git_allows_is_refused():
    data = packet(b"# service=git-upload-pack\n") + b"0000" + b"fff1" + b"a" * (0xFFF1 - 4) + b"0000"
    with pytest.raises(InvalidAdvertisement):
        parse_branches(data)
