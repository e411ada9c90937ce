"""What a git server says of its refs, and what nobody should believe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.git import advertisement
from stead.control.git.advertisement import NotAnAdvertisement, branches
from stead.shared.branches import is_plain_branch_name

A, B = "a" * 40, "b" * 40
CAPS = b"\0multi_ack side-band-64k agent=git/2.39"


def packet(line: bytes) -> bytes:
    return b"%04x%b" % (len(line) + 4, line)


def advertised(*refs: tuple[str, str], service: bytes = b"# service=git-upload-pack\n") -> bytes:
    lines = [f"{commit} {name}".encode() for commit, name in refs]
    if lines:
        lines[0] += CAPS
    return packet(service) + b"0000" + b"".join(packet(line + b"\n") for line in lines) + b"0000"


def test_branches_are_read_and_the_rest_is_not():
    said = advertised(
        (A, "HEAD"),
        (A, "refs/heads/main"),
        (B, "refs/heads/feature/x"),
        (B, "refs/pull/1/head"),
        (A, "refs/tags/v1"),
        (B, "refs/tags/v1^{}"),
    )
    assert branches(said) == {"main": A, "feature/x": B}


def test_an_empty_repository_has_none():
    assert branches(advertised(("0" * 40, "capabilities^{}"))) == {}
    assert branches(advertised()) == {}


def test_longer_hashes_are_read_too():
    assert branches(advertised(("c" * 64, "refs/heads/main"))) == {"main": "c" * 64}


def test_shallow_lines_are_passed_over():
    said = packet(b"# service=git-upload-pack\n") + b"0000"
    said += (
        packet(f"{A} refs/heads/main".encode() + CAPS + b"\n") + packet(f"shallow {A}\n".encode()) + b"0000"
    )
    assert branches(said) == {"main": A}


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
    assert branches(advertised((A, "refs/heads/main"), (B, name))) == {"main": A}


GOOD = advertised((A, "HEAD"), (A, "refs/heads/main"))


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"<html>hello</html>",
        f"{A}\trefs/heads/main\n".encode(),
        advertised((A, "refs/heads/main"), service=b"# service=git-receive-pack\n"),
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
        advertised(("A" * 40, "refs/heads/main")),
        advertised(("a" * 39, "refs/heads/main")),
        advertised((A, "refs/heads/ma in")),
        advertised((A, "refs/heads/main\x1b[31m")),
        advertised((A, "refs/heads/main"), (B, "refs/heads/main")),
        advertised((A, "refs/heads/main"), ("c" * 64, "refs/heads/other")),
        advertised((A, "refs/heads/main"), (B, "refs/heads/x\0caps")),
        packet(b"# service=git-upload-pack\n") + b"0000" + packet(b"ERR access denied\n") + b"0000",
    ],
    ids=lambda said: repr(said[-40:]),
)
def test_anything_else_is_refused(said: bytes):
    with pytest.raises(NotAnAdvertisement):
        branches(said)


def test_too_many_branches_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(advertisement, "MOST_BRANCHES", 3)
    many = [(A, f"refs/heads/b{number}") for number in range(4)]
    assert len(branches(advertised(*many[:3]))) == 3
    with pytest.raises(NotAnAdvertisement):
        branches(advertised(*many))


@given(st.binary(max_size=300))
def test_no_garbage_makes_it_do_anything_but_refuse(said: bytes):
    with pytest.raises(NotAnAdvertisement):
        branches(said)


@given(st.data())
def test_whatever_is_damaged_is_refused_or_names_only_branches_that_were_named(data: st.DataObject):
    said = bytearray(GOOD)
    at = data.draw(st.integers(0, len(said) - 1))
    said[at] = data.draw(st.integers(0, 255))
    try:
        found = branches(bytes(said))
    except NotAnAdvertisement:
        return
    assert len(found) <= 1


_NAMES = st.lists(st.text("abcxyz-_./", min_size=1, max_size=20), unique=True, max_size=20)


@given(_NAMES)
def test_every_branch_whose_name_we_take_is_found(names: list[str]):
    wanted = {name: A for name in names if is_plain_branch_name(name)}
    said = advertised((A, "HEAD"), *((A, f"refs/heads/{name}") for name in names))
    assert branches(said) == wanted


def test_there_is_no_line_longer_than_git_allows():
    said = packet(b"# service=git-upload-pack\n") + b"0000" + b"fff1" + b"a" * (0xFFF1 - 4) + b"0000"
    with pytest.raises(NotAnAdvertisement):
        branches(said)
