"""The secrets of work are sealed to one node, one job and one step."""

import msgspec
import pytest

from stead.protocol.sealed_work import NodeKeyMissing, WorkUnreadable, open_work, public_key_of, seal_work
from stead.protocol.work.builds import ArchiveSource, Build, GitSource
from stead.protocol.work.hosting import EnsureEnvironment, Probe
from stead.protocol.work.kinds import Work
from stead.protocol.work.releases import EnsureRelease, LayerDownload

PRIVATE, OTHER = bytes(range(32)), bytes(range(1, 33))
FOR = {"node": "node-1", "job": "job_1", "step": "build"}
LAYER = LayerDownload("sha256:1", "https://store.example.com/layer?secret-1")
RELEASE = EnsureRelease("static", "sha256:2", b"m", b"\x00\xff", b"e", (b"k",), (LAYER, LAYER))
WORK: list[Work] = [
    Build("static", GitSource("ssh://git@example.com/x", "main", key="secret-2"), "https://put/?secret-3"),
    Build("static", ArchiveSource("https://get/?secret-4"), "https://put/?secret-5", (("NAME", "secret-6"),)),
    RELEASE,
    EnsureEnvironment("static", RELEASE),
]


@pytest.mark.parametrize("work", WORK)
def test_work_without_its_secrets_contains_none_and_opens_to_the_same_work(work: Work) -> None:
    stripped, sealed = seal_work(work, public_key_of(PRIVATE), **FOR)
    assert b"secret" not in msgspec.msgpack.encode(stripped) + sealed
    assert open_work(stripped, sealed, PRIVATE, **FOR) == work


def test_work_without_secrets_needs_no_key() -> None:
    assert seal_work(Probe("example.com"), None, **FOR) == (Probe("example.com"), b"")
    assert open_work(Probe("example.com"), b"", PRIVATE, **FOR) == Probe("example.com")
    with pytest.raises(NodeKeyMissing):
        seal_work(RELEASE, None, **FOR)


@pytest.mark.parametrize("other", [{"node": "node-2"}, {"job": "job_2"}, {"step": "undo-build"}])
def test_secrets_do_not_open_for_another_command(other: dict[str, str]) -> None:
    stripped, sealed = seal_work(RELEASE, public_key_of(PRIVATE), **FOR)
    with pytest.raises(WorkUnreadable):
        open_work(stripped, sealed, PRIVATE, **(FOR | other))


def test_secrets_do_not_open_with_another_key_or_after_a_change() -> None:
    stripped, sealed = seal_work(RELEASE, public_key_of(PRIVATE), **FOR)
    for changed in (sealed[:-1] + bytes([sealed[-1] ^ 1]), b"\x02" + sealed[1:], sealed[:5], b"\x01"):
        with pytest.raises(WorkUnreadable):
            open_work(stripped, changed, PRIVATE, **FOR)
    with pytest.raises(WorkUnreadable):
        open_work(stripped, sealed, OTHER, **FOR)
