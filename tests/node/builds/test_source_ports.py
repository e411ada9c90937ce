"""Ports of sources: those of the web and of ssh, and others only where the operator allowed them."""

from typing import cast

import pytest

from stead.node.builds.failures import BuildFailed
from stead.node.builds.fetcher import Fetcher
from stead.node.builds.limits import BuildLimits
from stead.node.builds.sandbox import Sandbox
from stead.node.containers.egress_rules import EgressRules, read_networks
from stead.node.containers.names import resolve
from stead.protocol.work.builds import ArchiveSource, GitSource


def fetcher(networks: str = "") -> Fetcher:
    rules = EgressRules(networks=read_networks(networks))
    return Fetcher(cast("Sandbox", None), BuildLimits(), rules, resolve)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/a.git",
        "https://git.example.com:443/a.git",
        "git@git.example.com:a.git",
        "ssh://git@git.example.com:22/a.git",
        "ssh://git@git.example.com:443/a.git",
    ],
)
def test_usual_ports_are_allowed(url: str) -> None:
    assert fetcher().address_of(GitSource(url, "main")) is not None


@pytest.mark.parametrize(
    "source",
    [
        GitSource("https://git.example.com:4222/a.git", "main"),
        GitSource("https://git.example.com:22/a.git", "main"),
        GitSource("ssh://git@git.example.com:80/a.git", "main"),
        GitSource("ssh://git@git.example.com:2222/a.git", "main"),
        ArchiveSource("https://example.com:8443/a.zip"),
    ],
    ids=lambda source: source.url,
)
def test_other_ports_are_refused(source: GitSource | ArchiveSource) -> None:
    with pytest.raises(BuildFailed, match="is not one of 443, 80 and, for ssh, 22"):
        fetcher().address_of(source)


def test_a_port_that_the_operator_named_is_allowed() -> None:
    source = GitSource("https://git.internal:8443/a.git", "main")
    assert fetcher("10.0.0.0/8:8443").address_of(source) is not None
    with pytest.raises(BuildFailed):
        fetcher("10.0.0.0/8").address_of(source)
