"""URLs of repositories: which are valid, and which are the same."""

import pytest

from stead.control.http.host_names import InvalidUrl
from stead.control.sites.repositories import is_same_repository, parse_url

VALID = [
    ("https://git.example.com/site.git", ("https", "git.example.com", None, "site.git")),
    ("https://git.example.com:8443/a/b", ("https", "git.example.com", 8443, "a/b")),
    ("https://Git.Example.com/a/", ("https", "git.example.com", None, "a")),
    ("https://192.0.2.7/a.git", ("https", "192.0.2.7", None, "a.git")),
    ("https://[2001:db8::1]:3000/a.git", ("https", "2001:db8::1", 3000, "a.git")),
    ("ssh://git@git.example.com:22/x.git", ("ssh", "git.example.com", 22, "x.git")),
    ("ssh://git.example.com/~ada/x.git", ("ssh", "git.example.com", None, "~ada/x.git")),
    ("git@git.example.com:o/x.git", ("ssh", "git.example.com", None, "o/x.git")),
]

REFUSED = [
    "https://ada:secret@git.example.com/x.git",
    "https://ada@git.example.com/x.git",
    "https://token:x-oauth-basic@git.example.com/x.git",
    "ssh://git:secret@git.example.com/x.git",
    "ssh://-oProxyCommand=id/x",
    "ssh://git@-oProxyCommand=id/x",
    "git@-oProxyCommand=id:x",
    "git@git.example.com:-x",
    "git@git.example.com:--upload-pack=id",
    "git@git.example.com:o/../x",
    "https://git.example.com/../x",
    "https://git.example.com/-x",
    "https://git.example.com/x?a=b",
    "https://git.example.com/x#a",
    "https://git.example.com/x%2e",
    "https://git.example.com:0/x",
    "https://git.example.com:99999/x",
    "https://git.example.com",
    "https://git.example.com/",
    "https://localhost/x",
    "https://127.1/x",
    "https://0x7f.1/x",
    "https://2130706433/x",
    "https://[::1/x",
    "https://[fe80::1%25eth0]/x",
    "http://git.example.com/x",
    "git://git.example.com/x",
    "file:///etc/passwd",
    "ext::sh -c id",
    "/srv/x.git",
    "../x",
    "--upload-pack=id",
    "https://git.example.com/x\n",
    "https://git.example.com/\x00",
    "https://git.example.com\\@evil.example/x",
    "https://git.example.com/" + "a" * 1000,
]


@pytest.mark.parametrize(("url", "expected"), VALID)
def test_a_valid_url_is_parsed(url: str, expected: tuple[object, ...]):
    found = parse_url(url)
    assert (found.scheme, found.host, found.port, found.path) == expected


@pytest.mark.parametrize("url", REFUSED, ids=ascii)
def test_anything_that_is_not_plainly_a_repository_url_is_refused(url: str):
    with pytest.raises(InvalidUrl):
        parse_url(url)


def test_the_refusal_of_a_url_with_a_password_mentions_deploy_keys():
    with pytest.raises(InvalidUrl, match="deploy key"):
        parse_url("https://ada:secret@git.example.com/x.git")


@pytest.mark.parametrize(
    "other",
    [
        "https://git.example.com/o/x.git",
        "https://git.example.com/o/x",
        "https://git.example.com/O/X.git/",
        "http://git.example.com:3000/o/x.git",
        "ssh://git@git.example.com:2222/o/x.git",
        "git@GIT.example.com:o/x.git",
        "git://git.example.com/o/x.git",
    ],
)
def test_different_urls_of_a_repository_are_the_same(other: str):
    assert is_same_repository("https://git.example.com/o/x.git", other)


@pytest.mark.parametrize(
    "other",
    [
        "https://git.example.com/o/y.git",
        "https://evil.example/o/x.git",
        "https://git.example.com.evil.example/o/x.git",
        "https://evil.example/git.example.com/o/x.git",
        "",
        "o/x",
        "https://git.example.com/",
    ],
)
def test_urls_of_different_repositories_are_different(other: str):
    assert not is_same_repository("https://git.example.com/o/x.git", other)
