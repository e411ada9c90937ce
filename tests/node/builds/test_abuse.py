"""Hostile builds: they are contained and explained, and nothing of them is left."""

import asyncio
import json
import os
import time

import pytest
from msgspec.structs import replace

from stead.node.builds.log import secrets_of
from tests.node.builds.build_harness import (
    BuildHarness,
    CapturedOutput,
    new_assignment,
    processes_with_argument,
)
from tests.node.builds.projects import WRITES_A_PAGE, npm_site, package, scripted
from tests.node.harness import until
from tests.patience import slowdown

SECRET = "canary-7d1f-of-a-secret"


def shell(script: str) -> dict[str, str]:
    return {"package.json": package(build="sh build.sh"), "build.sh": script}


async def test_a_fork_bomb_reaches_the_limit_of_processes(bench: BuildHarness) -> None:
    files = shell("f() { f | f & }\nf\nsleep 2\nexit 1\n")
    reason = await bench.refused(
        bench.wanted(bench.upload(files)), builder=bench.builder(build_pids=96, build_seconds=30)
    )
    assert "it started too many processes; the limit is 96" in reason


async def test_a_build_that_runs_out_of_memory_is_told_so(bench: BuildHarness) -> None:
    files = scripted("const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));")
    reason = await bench.refused(bench.wanted(bench.upload(files)))
    assert reason == "npm run build failed: it ran out of memory; the limit is 512 MB"


async def test_a_build_that_fills_its_disk_fills_no_other(bench: BuildHarness) -> None:
    files = shell("dd if=/dev/zero of=big bs=1M")
    reason = await bench.refused(bench.wanted(bench.upload(files)))
    assert reason == "npm run build failed: its disk is full; the limit is 256 MB"


async def test_too_many_files_fill_the_disk_of_a_build(bench: BuildHarness) -> None:
    files = shell("mkdir d && cd d && i=0 && while : > $i; do i=$((i+1)); done; exit 1")
    reason = await bench.refused(bench.wanted(bench.upload(files)), builder=bench.builder(build_disk_mb=32))
    assert reason == "npm run build failed: its disk is full; the limit is 32 MB"


async def test_a_full_cache_is_reported_and_discarded(bench: BuildHarness) -> None:
    files = shell("dd if=/dev/zero of=/cache/big bs=1M")
    reason = await bench.refused(bench.wanted(bench.upload(files)), site="site_full")
    assert reason == "npm run build failed: the cache of its site was full, with 128 MB; it begins anew"
    wanted = bench.wanted(
        bench.upload(shell("ls -A /cache; mkdir dist; ls -A /cache > dist/a; echo >> dist/a"))
    )
    await bench.build(wanted, site="site_full")
    assert bench.layer(wanted)["a"].split() in ([], [b"lost+found"], [b"lost+found", b"npm"], [b"npm"])


async def test_a_build_that_takes_too_long_is_stopped(bench: BuildHarness) -> None:
    began = time.monotonic()
    reason = await bench.refused(
        bench.wanted(bench.upload(scripted("setInterval(() => {}, 1000)"))),
        builder=bench.builder(build_seconds=4),
    )
    assert reason == "the build was stopped: it took longer than 4 s"
    assert time.monotonic() - began < 30 * slowdown()


async def test_a_build_that_ignores_signals_is_stopped(bench: BuildHarness) -> None:
    files = shell("trap '' TERM INT HUP QUIT\nwhile :; do sleep 1; done\n")
    reason = await bench.refused(bench.wanted(bench.upload(files)), builder=bench.builder(build_seconds=4))
    assert reason == "the build was stopped: it took longer than 4 s"


REACHES = """
const net = require('net'), fs = require('fs');
const direct = (host, port) => new Promise(done => {
  const socket = net.connect({ host, port, timeout: 2000 });
  socket.on('connect', () => done('open')).on('error', error => done(error.code));
  socket.on('timeout', () => done('timeout'));
});
const proxied = url => fetch(url, { headers: { 'Metadata-Flavor': 'Google' } })
  .then(answer => answer.status, error => error.cause?.code || 'failed');
(async () => {
  const seen = {
    metadata: await direct('169.254.169.254', 80),
    metadataByProxy: await proxied('http://169.254.169.254/latest/meta-data/'),
    host: await direct('10.0.0.1', 22),
    neighbour: await direct('127.0.0.1', NEIGHBOUR),
    neighbourByProxy: await proxied('http://127.0.0.2:NEIGHBOUR/'),
    elsewhere: await proxied('http://example.com/'),
  };
  fs.mkdirSync('dist');
  fs.writeFileSync('dist/seen.json', JSON.stringify(seen));
})();
"""


async def test_a_build_cannot_reach_metadata_other_ports_of_the_node_or_unlisted_hosts(
    bench: BuildHarness,
) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(1)
        writer.close()

    reached: list[int] = []
    async with await asyncio.start_server(greet, "0.0.0.0", 0) as neighbour:  # noqa: S104
        port = neighbour.sockets[0].getsockname()[1]
        said, files = CapturedOutput(), scripted(REACHES.replace("NEIGHBOUR", str(port)))
        wanted = bench.wanted(bench.upload(files))
        await bench.build(wanted, said)
    seen = json.loads(bench.layer(wanted)["seen.json"])
    assert seen.pop("neighbour") == "ECONNREFUSED"
    assert {seen.pop("metadata"), seen.pop("host")} == {"ENETUNREACH"}
    assert set(seen.values()) == {"failed"}
    assert reached == []
    for target in ("169.254.169.254:80", f"127.0.0.2:{port}", "example.com:80"):
        assert f"egress: refused {target}: it is not on the egress list" in said.text


async def test_daemons_end_with_the_build(bench: BuildHarness) -> None:
    files = shell(
        "for i in 1 2 3; do setsid nohup sleep 86399 > /dev/null 2>&1 & done\n"
        "(setsid sh -c 'sleep 86399 & sleep 86399' &)\nmkdir dist && echo made > dist/index.html\n"
    )
    wanted = bench.wanted(bench.upload(files))
    await bench.build(wanted)
    assert bench.layer(wanted) == {"index.html": b"made\n"}
    assert processes_with_argument("86399") == []


async def test_a_build_cannot_write_outside_its_own_disk(bench: BuildHarness) -> None:
    places = "/ /usr/bin /etc /var/tmp /run /dev /work /proc/sys/kernel /root /home /sys /opt"
    files = shell(
        f"mkdir dist\nfor place in {places}; do (echo x > $place/stead-was-here) 2>/dev/null"
        " && echo $place >> dist/wrote; done\necho done >> dist/wrote\n"
    )
    wanted = bench.wanted(bench.upload(files))
    await bench.build(wanted)
    assert bench.layer(wanted)["wrote"] == b"done\n"
    assert not any("stead-was-here" in os.listdir(place) for place in places.split())  # noqa: PTH208


async def test_privileged_system_calls_are_refused_by_the_kernel(bench: BuildHarness) -> None:
    tries = {
        "user namespace": "unshare --user true",
        "mount namespace": "unshare --mount true",
        "network namespace": "unshare --net true",
        "chroot": "chroot / true",
        "vsock": "perl -e 'socket(my $s, 40, 1, 0) or exit 1'",
        "packets": "perl -e 'socket(my $s, 17, 3, 0) or exit 1'",
        "ptrace": "perl -e 'exit(syscall(101, 0, 0, 0, 0) < 0)'",
        "bpf": "perl -e 'exit(syscall(321, 0, 0, 0) < 0)'",
        "keyctl": "perl -e 'exit(syscall(250, 0, 0, 0) < 0)'",
        "io_uring": "perl -e 'exit(syscall(425, 1, 0) < 0)'",
        "kernel log": "dmesg",
        "root": "su -c true",
        "another's process": "kill -0 1 && test -r /proc/1/root/etc/shadow",
        "host's name": "hostname other",
        "disk": "cat /dev/vda /dev/loop0 /dev/kmsg /dev/mem",
    }
    lines = [
        f"if {what} > /dev/null 2>&1; then echo {name!r} >> dist/could; fi" for name, what in tries.items()
    ]
    wanted = bench.wanted(bench.upload(shell("\n".join(["mkdir dist", *lines, "echo end >> dist/could"]))))
    await bench.build(wanted)
    assert bench.layer(wanted)["could"] == b"end\n"


async def test_a_secret_is_seen_by_the_build_and_masked_wherever_it_is_printed(bench: BuildHarness) -> None:
    prints = """
    const secret = process.env.TOKEN;
    console.log('plain ' + secret); console.error('err ' + secret);
    console.log('base64 ' + Buffer.from(secret).toString('base64'));
    console.log('uri ' + encodeURIComponent(secret));
    console.log('login ' + Buffer.from('user:' + secret + ':x').toString('base64'));
    console.log('token ' + Buffer.from('{"a":"' + secret + '"}').toString('base64url'));
    console.log('hex ' + Buffer.from(secret).toString('hex'));
    console.log('json ' + JSON.stringify({ key: secret }));
    console.log('theme ' + process.env.THEME);
    process.stdout.write('split ' + secret.slice(0, 9));
    setTimeout(() => { process.stdout.write(secret.slice(9) + '\\n'); process.exit(4); }, 300);
    """
    said = CapturedOutput()
    wanted = bench.wanted(bench.upload(scripted(prints)), TOKEN=SECRET)
    wanted = replace(wanted, plain_variables=(("THEME", "dark blue"), ("TOKEN", "replaced")))
    reason = await bench.refused(wanted, said)
    assert reason == "npm run build ended with exit code 4"
    assert SECRET not in said.text
    assert "canary" not in said.text
    assert "theme dark blue" in said.text
    for kind in ("plain", "err", "uri", "split", "hex"):
        assert f"| {kind} •••" in said.text
    assert not any(secret in said.text for secret in secrets_of(wanted))
    assert "signature" not in said.text


async def test_the_fetch_sees_no_variable_and_a_hostile_repository_runs_nothing(bench: BuildHarness) -> None:
    """A fetch does not execute hooks, filters and configuration of a repository."""
    files = scripted(WRITES_A_PAGE) | {
        ".gitattributes": "* filter=steal\n",
        ".git-config": '[filter "steal"]\n\tsmudge = env > /work/home/stolen\n',
        "hooks/post-checkout": "#!/bin/sh\nenv > /work/home/stolen\n",
    }
    bench.repositories.repository("hostile", files)
    probe = "if (require('fs').existsSync('/work/home/stolen')) process.exit(9);" + WRITES_A_PAGE
    bench.repositories.repository("hostile", {"build.js": probe})
    wanted = bench.wanted(bench.git("hostile"), TITLE=SECRET)
    await bench.build(wanted)
    assert bench.layer(wanted) == {"index.html": SECRET.encode()}


async def test_no_process_of_a_build_runs_when_its_cancellation_is_reported(bench: BuildHarness) -> None:
    files = shell(
        "trap '' TERM\nfor i in $(seq 20); do setsid sleep 86398 & done\necho under way\n"
        "while :; do sleep 1; done\n"
    )
    said = CapturedOutput()
    task = asyncio.create_task(bench.build(bench.wanted(bench.upload(files)), said))
    await said.until("under way")

    async def all_twenty() -> bool | None:
        return len(processes_with_argument("86398")) >= 20 or None

    await until(all_twenty)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    print(  # noqa: T201
        f"\ncancelled in {time.monotonic() - began:.2f} s"
    )
    assert processes_with_argument("86398") == []


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.5, 1.0])
async def test_a_build_cancelled_at_any_moment_leaves_nothing(bench: BuildHarness, after: float) -> None:
    bench.repositories.repository("cancelled", npm_site(WRITES_A_PAGE))
    task = asyncio.create_task(bench.build(bench.wanted(bench.git("cancelled"))))
    await asyncio.sleep(after)
    task.cancel()
    await asyncio.wait({task})
    bench.assert_nothing_is_left()


async def test_two_builds_at_once_have_two_ranges_of_users_and_a_third_waits(bench: BuildHarness) -> None:
    builder = bench.builder(build_at_once=2)
    files = shell("mkdir dist\ncat /proc/self/uid_map > dist/map\nsleep 2\n")
    said = [CapturedOutput() for _ in range(3)]
    every = [bench.wanted(bench.upload(files)) for _ in said]

    async def run(number: int) -> None:
        await builder.build(new_assignment(said[number]), every[number])

    await asyncio.gather(*(run(number) for number in range(3)))
    bench.assert_nothing_is_left()
    maps = [bench.layer(wanted)["map"].split()[1] for wanted in every]
    assert maps[0] != maps[1]
    assert "waiting: 2 builds are under way on this node" in said[2].text
