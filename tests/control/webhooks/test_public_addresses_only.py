"""Deliveries connect only to public addresses, whatever the URL contains and its host name resolves to.

The tests run in a network namespace where every address, private or public, leads to a local server that
speaks TLS with a valid certificate. So only the address check keeps a delivery from reaching a private
address.
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
PUBLIC, PUBLIC6, OTHER_PUBLIC = "93.184.215.14", "2606:2800:21f:cb07::14", "151.101.1.1"
ACCEPTED = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
NAME = "hook.hostile.example"
URL = f"https://{NAME}/hook"


@dataclass
class Case:
    url: str = URL
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    response: str = ACCEPTED
    times: int = 1
    may_reach: set[str] = field(default_factory=set)
    allow_all: bool = False


def _named(*answers: list[str], **more: Any) -> Case:
    return Case(names={NAME: list(answers)}, **more)


def _redirect(status: int, where: str) -> Case:
    response = f"HTTP/1.1 {status} Go\r\nlocation: {where}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    return _named([PUBLIC], response=response, may_reach={PUBLIC})


def _literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


HOSTILE: dict[str, Case] = {
    **{f"literal {each}": Case(f"https://{_literal(each)}/") for each in PRIVATE},
    **{f"literal on 8443 {each}": Case(f"https://{_literal(each)}:8443/") for each in PRIVATE[::5]},
    **{f"name of {each}": _named([each]) for each in PRIVATE},
    **{f"spelled {each!r}": Case(each) for each in MALFORMED},
    "a private address among public ones": _named([PUBLIC, "10.0.0.1"]),
    "a private address first": _named(["10.0.0.1", PUBLIC]),
    "public IPv4, private IPv6": _named([PUBLIC, "fd00::1"]),
    "private IPv4, public IPv6": _named(["192.168.0.1", PUBLIC6]),
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
    "rebinding between check and connect": _named([PUBLIC], ["127.0.0.1"], may_reach={PUBLIC}),
    "rebinding to metadata": _named([PUBLIC], ["169.254.169.254"], may_reach={PUBLIC}),
    "rebinding between two deliveries": _named([PUBLIC], ["10.0.0.1"], may_reach={PUBLIC}, times=3),
    "rebinding back and forth": _named(
        [PUBLIC], ["10.0.0.1"], [OTHER_PUBLIC], ["::1"], may_reach={PUBLIC, OTHER_PUBLIC}, times=5
    ),
    "rebinding IPv6 only": _named([PUBLIC6], ["::1"], may_reach={PUBLIC6}, times=2),
    "no address at all": _named([]),
    "a name that does not exist": Case(),
    "an unusual port": _named([PUBLIC], url=f"https://{NAME}:80/"),
    "a database's port": _named([PUBLIC], url=f"https://{NAME}:5432/"),
    "a certificate for another name": Case(
        "https://elsewhere.example/", names={"elsewhere.example": [[PUBLIC]]}, may_reach={PUBLIC}
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
    "a public name": _named([PUBLIC], may_reach={PUBLIC}),
    "a public name on 8443": _named([PUBLIC], url=f"https://{NAME}:8443/", may_reach={PUBLIC}),
    "IPv6": _named([PUBLIC6], may_reach={PUBLIC6}),
    "a public literal": Case(f"https://{PUBLIC}/", may_reach={PUBLIC}),
    "an alias": Case(
        names={NAME: [["b.hostile.example"]], "b.hostile.example": [[PUBLIC]]}, may_reach={PUBLIC}
    ),
}
UNDIALLABLE = {"0.0.0." + "0", "::", "224.0.0.1", "239.255.255.255", "ff02::1", "fe80::1", "255.255.255.255"}
"""Addresses that the kernel refuses to connect to, or connects to elsewhere."""
UNGUARDED = {
    f"{each} without the guard": _named([each], may_reach={each}, allow_all=True)
    for each in PRIVATE
    if each not in UNDIALLABLE and "ffff" not in each
}


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """A network namespace in which all addresses are local, with a name server of its own."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("creating a network namespace requires root and iproute2")
    name = f"stead-hooks-{os.getpid()}"
    resolver_directory = Path("/etc/netns") / name
    subprocess.run([ip, "netns", "add", name], check=True)
    try:
        resolver_directory.mkdir(parents=True)
        (resolver_directory / "resolv.conf").write_text(
            "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        )
        for arguments in (
            ["link", "set", "lo", "up"],
            ["route", "add", "local", "default", "dev", "lo"],
            ["-6", "route", "add", "local", "::/0", "dev", "lo"],
        ):
            subprocess.run([ip, "-n", name, *arguments], check=True)
        yield name
    finally:
        subprocess.run([ip, "netns", "delete", name], check=True)
        shutil.rmtree(resolver_directory)


def _run_cases(
    namespace: str, authority: CertificateAuthority, cases: dict[str, Case]
) -> dict[str, dict[str, Any]]:
    addresses = {*PRIVATE, PUBLIC, PUBLIC6, OTHER_PUBLIC}
    certificate, key = authority.issue("*.hostile.example", *sorted(addresses))
    arguments = {
        "certificate": str(certificate),
        "key": str(key),
        "authority": str(authority.root_file),
        "cases": [
            {
                "url": case.url,
                "names": case.names,
                "response": case.response,
                "times": case.times,
                "allow_all": case.allow_all,
            }
            for case in cases.values()
        ],
    }
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"), "http://10.0.0.9:3128")
    finished = subprocess.run(
        [
            shutil.which("ip") or "ip",
            "netns",
            "exec",
            namespace,
            sys.executable,
            "-m",
            "tests.control.webhooks.address_probe",
        ],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **proxies},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return dict(zip(cases, json.loads(finished.stdout), strict=True))


def _reached(outcome: dict[str, Any]) -> set[str]:
    return {reached.split()[0] for reached in outcome["reached"]}


def test_private_addresses_are_never_reached(namespace: str, authority: CertificateAuthority):
    assert len(HOSTILE) >= 60
    outcomes = _run_cases(namespace, authority, HOSTILE)
    violations = {
        name: outcome for name, outcome in outcomes.items() if _reached(outcome) - HOSTILE[name].may_reach
    }
    assert violations == {}
    for name, outcome in outcomes.items():
        assert len(outcome["results"]) == HOSTILE[name].times
        if not HOSTILE[name].may_reach:
            assert not any(result.isdigit() for result in outcome["results"]), name
    for name in ("rebinding between two deliveries", "rebinding back and forth"):
        assert "Its address is not public." in outcomes[name]["results"]
        assert outcomes[name]["reached"], "its first address was public"
    redirected = {name: outcome for name, outcome in outcomes.items() if name.startswith("redirect")}
    assert {outcome["posts"] for outcome in redirected.values()} == {1}
    assert outcomes["a certificate for another name"]["posts"] == 0


def test_public_addresses_are_reached(namespace: str, authority: CertificateAuthority):
    for name, outcome in _run_cases(namespace, authority, REACHED).items():
        assert (outcome["results"], _reached(outcome)) == (["200"], REACHED[name].may_reach), name


def test_the_address_check_is_what_prevents_the_connections(namespace: str, authority: CertificateAuthority):
    """With every address permitted, the same cases reach the server."""
    outcomes = _run_cases(namespace, authority, UNGUARDED)
    unreached = {name for name, outcome in outcomes.items() if not outcome["posts"]}
    assert unreached == set()
