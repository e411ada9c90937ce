"""Sources of builds: git over HTTP and ssh, uploads, archives, and failures of each."""

import base64
import io
import os
import re
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stead.dev.ports import reserve_ports
from stead.node.processes import StreamName
from stead.protocol.work.builds import ArchiveSource, GitSource
from tests.node.builds.build_harness import BuildHarness, CapturedOutput, make_tar
from tests.node.builds.servers import git, git_server
from tests.patience import Patience

PAGE = {"index.html": "<h1>Hello</h1>", "css/site.css": "body {}"}
PUBLISHED = {name: text.encode() for name, text in PAGE.items()}


async def test_a_folder_of_a_repository_becomes_a_layer_with_its_commit(bench: BuildHarness) -> None:
    commit = bench.repositories.repository("plain", PAGE, "Say hello.\n\nWith care.")
    said, wanted = CapturedOutput(), bench.wanted(bench.git("plain"))
    facts = await bench.build(wanted, said)
    assert bench.layer(wanted) == PUBLISHED
    assert (facts.commit, facts.ref, facts.files) == (commit, "main", 2)
    assert (facts.author, facts.message) == ("Ada Builder", "Say hello.\n\nWith care.")
    assert all(re.match(r"\[\d\d:\d\d:\d\d\] (fetch|build|pack)(: | \| )", line) for line in said.lines)


async def test_lines_are_written_while_the_build_runs(bench: BuildHarness) -> None:
    said = CapturedOutput()
    slow = {"package.json": '{"scripts": {"build": "echo early; sleep 1; mkdir dist; echo late > dist/a"}}'}
    at: dict[str, float] = {}

    class Timed(CapturedOutput):
        async def chunk(self, stream: StreamName, data: bytes) -> None:
            if data.endswith(b"| early\n"):
                at["early"] = time.monotonic()
            await said.chunk(stream, data)

    await bench.build(bench.wanted(bench.upload(slow)), Timed())
    assert time.monotonic() - at["early"] > 1


async def test_a_tag_a_pinned_commit_and_the_default_branch_can_be_built(bench: BuildHarness) -> None:
    first = bench.repositories.repository("history", {"index.html": "first"})
    git("tag", "v1", at=bench.repositories.place / "history.tree")
    second = bench.repositories.repository("history", {"index.html": "second"})
    for source, commit, text in (
        (bench.git("history", "v1"), first, b"first"),
        (bench.git("history", "refs/heads/main"), second, b"second"),
        (bench.git("history", "main", first), first, b"first"),
        (bench.git("history", "main", first[:10]), first, b"first"),
        (bench.git("history", ""), second, b"second"),
    ):
        wanted = bench.wanted(source)
        facts = await bench.build(wanted)
        assert (facts.commit, bench.layer(wanted)) == (commit, {"index.html": text})


async def test_submodules_are_fetched_and_published_without_their_history(bench: BuildHarness) -> None:
    bench.repositories.repository("part", {"part.txt": "of a submodule"})
    bench.repositories.repository("whole", {"index.html": "whole"})
    tree = bench.repositories.place / "whole.tree"
    git("submodule", "--quiet", "add", bench.repositories.url("part"), "parts/one", at=tree)
    bench.repositories.repository("whole", {"more.html": "more"})
    wanted = bench.wanted(bench.git("whole"))
    await bench.build(wanted)
    layer = bench.layer(wanted)
    assert layer["parts/one/part.txt"] == b"of a submodule"
    assert not any(".git" in name.split("/") for name in layer)


async def test_a_submodule_with_a_path_on_the_node_is_refused(bench: BuildHarness) -> None:
    bench.repositories.repository("thief", {"index.html": "x"})
    tree = bench.repositories.place / "thief.tree"
    git("submodule", "--quiet", "add", f"file://{tree.with_suffix('.git')}", "inside", at=tree)
    bench.repositories.repository("thief", {"more.html": "more"})
    said = CapturedOutput()
    reason = await bench.refused(bench.wanted(bench.git("thief")), said)
    assert reason.startswith("a submodule could not be fetched from 127.0.0.1: ")
    assert "transport 'file' not allowed" in said.text


async def test_failed_fetches_are_explained(bench: BuildHarness, tmp_path: Path) -> None:
    bench.repositories.repository("some", PAGE)
    absent = "0123456789" * 4
    reason = await bench.refused(bench.wanted(bench.git("some", "no-such")), code="build.ref_missing")
    assert reason == "the branch or tag no-such does not exist"
    for source, reason in (
        (
            bench.git("some", "main", absent),
            "the commit 012345678901 does not exist, or is too far behind main",
        ),
        (
            bench.git("none"),
            "the source could not be fetched from 127.0.0.1: there is no such repository, or",
        ),
        (bench.git("some", "--upload-pack=x"), "the ref is no name of a branch or tag"),
        (bench.git("some", "main", "HEAD~1"), "the commit is not named by its hash"),
        (GitSource("file:///etc", "main"), "the source's address must be one of https or http or ssh"),
        (GitSource("ext::sh -c id", "main"), "the source's address must be one of https or http or ssh"),
        (
            GitSource("http://127.0.0.1/x.git", "main"),
            "the source could not be fetched from 127.0.0.1: its address",
        ),
        (GitSource("http://127.0.0.1:1/x.git", "main"), "the source's port 1 is not one of 443, 80 and"),
    ):
        assert (await bench.refused(bench.wanted(source))).startswith(reason)
    with git_server(tmp_path) as guarded:
        guarded.repository("private", PAGE)
        guarded.login = "Basic " + base64.b64encode(b"ada:open-sesame").decode()
        builder = bench.builder(build_networks=f"127.0.0.0/8:{guarded.port},127.0.0.0/8:{bench.store.port}")
        reason = await bench.refused(bench.wanted(GitSource(guarded.url("private"), "main")), builder=builder)
        assert reason.endswith("it asks for a login: authentication failed")
        named = guarded.url("private").replace("://", "://ada:open-sesame@")
        said, wanted = CapturedOutput(), bench.wanted(GitSource(named, "main"))
        await bench.build(wanted, said, builder)
        assert bench.layer(wanted) == PUBLISHED
        assert "open-sesame" not in said.text
        wrong = GitSource(named.replace("open-sesame", "not-that-one"), "main")
        reason = await bench.refused(bench.wanted(wrong), said, builder)
        assert reason.endswith("authentication failed")
        assert "not-that-one" not in said.text


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/site.zip", "127.0.0.1:80: its address is one of the platform"),
        ("https://10.11.12.13/site.zip", "10.11.12.13:443: its address is not public"),
        ("https://[::1]/site.zip", "::1:443: its address is one of the platform"),
        ("http://no-such-host.invalid/site.zip", "no-such-host.invalid:80 cannot be reached"),
        ("https://no-such-host.invalid/site.zip", "no-such-host.invalid:443 cannot be reached"),
    ],
)
async def test_an_archive_that_the_sandbox_may_not_or_cannot_reach_is_explained(
    bench: BuildHarness, url: str, reason: str
) -> None:
    said = await bench.refused(bench.wanted(ArchiveSource(url)))
    assert said.endswith(f": {reason}"), said


def _wait_for(port: int) -> None:
    patience = Patience(20)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert not patience.is_over
            time.sleep(0.05)
        else:
            return


@contextmanager
def ssh_server(place: Path) -> Iterator[tuple[int, str]]:
    """An ssh server: its port, and a private key that it accepts."""
    for name in ("host", "customer"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(place / name)]
        subprocess.run(made, check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    (place / "environment").write_text("")
    (port,) = reserve_ports(1)
    options = {
        "HostKey": place / "host",
        "AuthorizedKeysFile": place / "customer.pub",
        "ListenAddress": "127.0.0.1",
        "Port": port,
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", *words]
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port, (place / "customer").read_text()
    finally:
        server.terminate()
        server.wait()


@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="needs an ssh server")
async def test_a_repository_over_ssh_is_fetched_with_its_key(bench: BuildHarness, tmp_path: Path) -> None:
    commit = bench.repositories.repository("over-ssh", PAGE)
    bare = bench.repositories.place / "over-ssh.git"
    with ssh_server(tmp_path) as (port, key):
        builder = bench.builder(build_networks=f"127.0.0.0/8:{port},127.0.0.0/8:{bench.store.port}")
        url = f"ssh://{os.environ.get('USER') or 'root'}@127.0.0.1:{port}{bare}"
        said, wanted = CapturedOutput(), bench.wanted(GitSource(url, "main", key=key))
        facts = await bench.build(wanted, said, builder)
        assert (facts.commit, bench.layer(wanted)) == (commit, PUBLISHED)
        assert not any(line in said.text for line in key.splitlines() if len(line) > 20)
        reason = await bench.refused(bench.wanted(GitSource(url, "main")), builder=builder)
        assert reason == (
            "the source could not be fetched from 127.0.0.1: authentication failed: the key is not accepted"
        )


async def test_an_archive_is_downloaded_from_its_address(bench: BuildHarness) -> None:
    bench.store.files["site.tar.gz"] = make_tar({f"site-1.0/{name}": text for name, text in PAGE.items()})
    bench.store.redirects["latest"] = bench.store.url("site.tar.gz")
    bench.store.redirects["astray"] = "http://169.254.169.254/latest/meta-data"
    for name in ("site.tar.gz", "latest"):
        wanted = bench.wanted(ArchiveSource(bench.store.url(name)))
        facts = await bench.build(wanted)
        assert bench.layer(wanted) == PUBLISHED
        assert facts.commit == facts.author == ""
    said = CapturedOutput()
    reason = await bench.refused(bench.wanted(ArchiveSource(bench.store.url("astray"))), said)
    assert reason.endswith(": 169.254.169.254:80: it is not on the egress list")
    assert "egress: refused 169.254.169.254:80: it is not on the egress list" in said.text
    reason = await bench.refused(bench.wanted(ArchiveSource(bench.store.url("absent"))))
    assert reason == "127.0.0.1 has no such archive: it answered 404"


async def test_unsafe_archives_are_refused_with_the_entry_at_fault(bench: BuildHarness) -> None:
    def archive(member: tarfile.TarInfo, content: bytes = b"") -> ArchiveSource:
        into = io.BytesIO()
        with tarfile.open(fileobj=into, mode="w") as file:
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
        bench.store.files["unsafe"] = into.getvalue()
        return ArchiveSource(bench.store.url("unsafe"), ours=True)

    link, device = tarfile.TarInfo("a/link"), tarfile.TarInfo("device")
    link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
    device.type, device.devmajor, device.devminor = tarfile.BLKTYPE, 7, 0
    for member in (tarfile.TarInfo("../../escaped"), link, device):
        reason = await bench.refused(bench.wanted(archive(member)))
        assert reason.startswith(f"the archive is refused: {member.name}: ")
    bench.store.files["unsafe"] = b"neither this nor that"
    reason = await bench.refused(bench.wanted(ArchiveSource(bench.store.url("unsafe"), ours=True)))
    assert reason == "the archive is refused: it is neither a tar, nor a tar.gz, nor a zip"


async def test_an_archive_that_does_not_fit_on_the_disk_is_refused(bench: BuildHarness) -> None:
    source = bench.upload({"big.bin": os.urandom(20 << 20), "other.bin": os.urandom(20 << 20)})
    reason = await bench.refused(bench.wanted(source), builder=bench.builder(build_disk_mb=32))
    assert reason == "the upload is larger than 16 MB"
    zeros = bench.upload({f"{number}.bin": bytes(8 << 20) for number in range(6)})
    reason = await bench.refused(bench.wanted(zeros), builder=bench.builder(build_disk_mb=32))
    assert reason == "the archive does not fit: its disk is full; the limit is 32 MB"


async def test_a_short_failure_of_the_store_does_not_fail_the_build(bench: BuildHarness) -> None:
    bench.store.refusals = 2
    wanted = bench.wanted(bench.upload(PAGE))
    await bench.build(wanted)
    assert bench.layer(wanted) == PUBLISHED


async def test_the_same_source_gives_the_same_layer(bench: BuildHarness) -> None:
    bench.repositories.repository("same", PAGE)
    facts = [await bench.build(bench.wanted(bench.git("same"))) for _ in range(2)]
    uploaded = await bench.build(bench.wanted(bench.upload(PAGE)))
    assert facts[0].digest == facts[1].digest == uploaded.digest
