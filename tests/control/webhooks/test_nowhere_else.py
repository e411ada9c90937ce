"""Nothing but the public internet is ever dialled, whatever a URL spells and whatever its name resolves to.

It all happens in a network namespace where every address, private or public, leads to a trap that speaks TLS
with a valid certificate: only the guard stands between a delivery and the trap.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stead.dev.certificate_authority import CertificateAuthority
from tests.control.webhooks.test_urls import MALFORMED, PRIVATE

ROOT = Path(__file__).parents[3]
GOOD, GOOD6, OTHER_GOOD = "93.184.215.14", "2606:2800:21f:cb07::14", "151.101.1.1"
TAKEN = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
NAME = "hook.hostile.example"
URL = f"https://{NAME}/hook"


@dataclass
class Case:
    url: str = URL
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    answer: str = TAKEN
    times: int = 1
    may_reach: set[str] = field(default_factory=set)
    open: bool = False


def _named(*answers: list[str], **more: Any) -> Case:
    return Case(names={NAME: list(answers)}, **more)


def _redirect(status: int, where: str) -> Case:
    said = f"HTTP/1.1 {status} Go\r\nlocation: {where}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    return _named([GOOD], answer=said, may_reach={GOOD})


def _literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


HOSTILE: dict[str, Case] = {
    **{f"literal {each}": Case(f"https://{_literal(each)}/") for each in PRIVATE},
    **{f"literal on 8443 {each}": Case(f"https://{_literal(each)}:8443/") for each in PRIVATE[::5]},
    **{f"name of {each}": _named([each]) for each in PRIVATE},
    **{f"spelled {each!r}": Case(each) for each in MALFORMED},
    "a private among public addresses": _named([GOOD, "10.0.0.1"]),
    "a private one first": _named(["10.0.0.1", GOOD]),
    "public IPv4, private IPv6": _named([GOOD, "fd00::1"]),
    "private IPv4, public IPv6": _named(["192.168.0.1", GOOD6]),
    "an alias of a private name": Case(
        names={NAME: [["inner.hostile.example"]], "inner.hostile.example": [["10.0.0.1"]]}
    ),
    "a chain of aliases": Case(
        names={
            NAME: [["b.hostile.example"]],
            "b.hostile.example": [["c.hostile.example"]],
            "c.hostile.example": [["169.254.169.254"]],
        }
    ),
    "rebinding between check and connect": _named([GOOD], ["127.0.0.1"], may_reach={GOOD}),
    "rebinding to metadata": _named([GOOD], ["169.254.169.254"], may_reach={GOOD}),
    "rebinding between two deliveries": _named([GOOD], ["10.0.0.1"], may_reach={GOOD}, times=3),
    "rebinding back and forth": _named(
        [GOOD], ["10.0.0.1"], [OTHER_GOOD], ["::1"], may_reach={GOOD, OTHER_GOOD}, times=5
    ),
    "rebinding IPv6 only": _named([GOOD6], ["::1"], may_reach={GOOD6}, times=2),
    "no address at all": _named([]),
    "a name that is not": Case(),
    "an unusual port": _named([GOOD], url=f"https://{NAME}:80/"),
    "a database's port": _named([GOOD], url=f"https://{NAME}:5432/"),
    "a certificate for another name": Case(
        "https://elsewhere.example/", names={"elsewhere.example": [[GOOD]]}, may_reach={GOOD}
    ),
    **{
        f"redirect {status} to {where}": _redirect(status, where)
        for status, where in (
            (301, "https://127.0.0.1/"),
            (302, "https://10.0.0.1:8443/"),
            (303, "https://169.254.169.254/latest/meta-data/"),
            (307, "https://[::1]/"),
            (308, f"http://{NAME}/"),
            (302, "//10.0.0.1/"),
            (302, "unix:///run/x.sock"),
        )
    },
}
REACHED: dict[str, Case] = {
    "a public name": _named([GOOD], may_reach={GOOD}),
    "a public name on 8443": _named([GOOD], url=f"https://{NAME}:8443/", may_reach={GOOD}),
    "IPv6": _named([GOOD6], may_reach={GOOD6}),
    "a public literal": Case(f"https://{GOOD}/", may_reach={GOOD}),
    "an alias": Case(names={NAME: [["b.hostile.example"]], "b.hostile.example": [[GOOD]]}, may_reach={GOOD}),
}
UNDIALLABLE = {"0.0.0." + "0", "::", "224.0.0.1", "239.255.255.255", "ff02::1", "fe80::1", "255.255.255.255"}
"""What the kernel itself does not connect a stream to, or connects to elsewhere."""
UNGUARDED = {
    f"{each} without the guard": _named([each], may_reach={each}, open=True)
    for each in PRIVATE
    if each not in UNDIALLABLE and "ffff" not in each
}


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """All addresses are local in it; names are asked for inside it."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("making a network namespace takes root and iproute2")
    name = f"stead-hooks-{os.getpid()}"
    resolving = Path("/etc/netns") / name
    subprocess.run([ip, "netns", "add", name], check=True)
    try:
        resolving.mkdir(parents=True)
        (resolving / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        for words in (
            ["link", "set", "lo", "up"],
            ["route", "add", "local", "default", "dev", "lo"],
            ["-6", "route", "add", "local", "::/0", "dev", "lo"],
        ):
            subprocess.run([ip, "-n", name, *words], check=True)
        yield name
    finally:
        subprocess.run([ip, "netns", "delete", name], check=True)
        shutil.rmtree(resolving)


def _outcomes(
    namespace: str, authority: CertificateAuthority, cases: dict[str, Case]
) -> dict[str, dict[str, Any]]:
    addresses = {*PRIVATE, GOOD, GOOD6, OTHER_GOOD}
    certificate, key = authority.issue("*.hostile.example", *sorted(addresses))
    given = {
        "certificate": str(certificate),
        "key": str(key),
        "authority": str(authority.root_file),
        "cases": [
            {
                "url": case.url,
                "names": case.names,
                "answer": case.answer,
                "times": case.times,
                "open": case.open,
            }
            for case in cases.values()
        ],
    }
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"), "http://10.0.0.9:3128")
    ended = subprocess.run(
        [
            shutil.which("ip") or "ip",
            "netns",
            "exec",
            namespace,
            sys.executable,
            "-m",
            "tests.control.webhooks.trap",
        ],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **proxies},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return dict(zip(cases, json.loads(ended.stdout), strict=True))


def _addresses(outcome: dict[str, Any]) -> set[str]:
    return {reached.split()[0] for reached in outcome["reached"]}


def test_none_of_them_is_reached(namespace: str, authority: CertificateAuthority):
    assert len(HOSTILE) >= 60
    outcomes = _outcomes(namespace, authority, HOSTILE)
    astray = {
        name: outcome for name, outcome in outcomes.items() if _addresses(outcome) - HOSTILE[name].may_reach
    }
    assert astray == {}
    for name, outcome in outcomes.items():
        assert len(outcome["said"]) == HOSTILE[name].times
        if not HOSTILE[name].may_reach:
            assert not any(said.isdigit() for said in outcome["said"]), name
    for name in ("rebinding between two deliveries", "rebinding back and forth"):
        assert "Its address is not public." in outcomes[name]["said"]
        assert outcomes[name]["reached"], "its first address was public"
    redirected = {name: outcome for name, outcome in outcomes.items() if name.startswith("redirect")}
    assert {outcome["posts"] for outcome in redirected.values()} == {1}
    assert outcomes["a certificate for another name"]["posts"] == 0


def test_what_is_public_is_reached(namespace: str, authority: CertificateAuthority):
    for name, outcome in _outcomes(namespace, authority, REACHED).items():
        assert (outcome["said"], _addresses(outcome)) == (["200"], REACHED[name].may_reach), name


def test_it_is_the_guard_that_keeps_from_them(namespace: str, authority: CertificateAuthority):
    """The same addresses, the guard wide open: the trap is there, and would have been reached."""
    outcomes = _outcomes(namespace, authority, UNGUARDED)
    unreached = {name for name, outcome in outcomes.items() if not outcome["posts"]}
    assert unreached == set()
