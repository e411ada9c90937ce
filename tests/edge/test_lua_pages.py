"""Rules of the page cache, traces and error pages, tested without nginx."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edge.lua import module, runtime

LUA = runtime()
CACHE, TRACE, PAGES, LINES = (module(LUA, name) for name in ("pagecache", "trace", "pages", "lines"))

name = st.sampled_from(["a", "b", "c", "utm_source", "fbclid", "a[]", "UTM_x"])
pairs = st.lists(st.tuples(name, st.sampled_from(["1", "2", "", "%20"])), max_size=8)
TRACKING = {"utm_source", "fbclid", "UTM_x"}


def query(given: list[tuple[str, str]]) -> str:
    return "&".join(f"{key}={value}" for key, value in given)


@given(pairs)
def test_a_query_is_sorted_and_loses_tracking_parameters(given: list[tuple[str, str]]) -> None:
    kept = sorted((pair for pair in given if pair[0] not in TRACKING), key=lambda pair: pair[0])
    expected = f"?{query(kept)}" if kept else ""
    assert CACHE.query(query(given).encode()).decode() == expected
    assert CACHE.target(f"/p?{query(given)}".encode()).decode() == f"/p{expected}"


@given(pairs)
def test_normalising_is_idempotent(given: list[tuple[str, str]]) -> None:
    once = CACHE.target(f"/p?{query(given)}".encode())
    assert CACHE.target(once) == once


@given(st.integers(0, 2**53 - 1), st.text(max_size=40))
def test_a_key_can_be_split_into_its_parts(since: int, target: str) -> None:
    page = CACHE.page(b"env", b"rel", b"https", b"h.test", target.encode())
    assert CACHE.parts(CACHE.key(b"abc", since, page)) == (since, page)
    assert LINES.split(LINES.join(since, target.encode())) == (since, target.encode())


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (200, {}, 600),
        (200, {"set-cookie": "a=1"}, 0),
        (200, {"cache-control": "max-age=10"}, 10),
        (200, {"cache-control": "s-maxage=5, max-age=10"}, 5),
        (200, {"cache-control": "max-age=99999"}, 600),
        (200, {"cache-control": "PRIVATE"}, 0),
        (200, {"vary": "accept-encoding"}, 600),
        (200, {"vary": "Accept-Encoding, Cookie"}, 0),
        (200, {"vary": "*"}, 0),
        (404, {}, 60),
        (302, {}, 0),
        (206, {}, 0),
        (500, {}, 0),
    ],
)
def test_a_response_is_cached_for_the_allowed_time(
    status: int, headers: dict[str, str], seconds: int
) -> None:
    given = LUA.table_from({key.encode(): value.encode() for key, value in headers.items()})
    assert CACHE.seconds(status, given, 600) == seconds
    assert CACHE.seconds(status, given, 0) == 0


def test_repeated_headers_are_joined() -> None:
    several = LUA.table_from({b"vary": LUA.table_from([b"Accept-Encoding", b"Cookie"])})
    assert CACHE.seconds(200, several, 600) == 0


@given(
    st.dictionaries(
        st.sampled_from(["a:e", "u:e:/p", "t:e:x", "t:e:y", "a:other", "t:e:z"]), st.integers(1, 20)
    ),
    st.integers(0, 20),
)
def test_a_page_is_fresh_until_a_purge_covers_it(purged: dict[str, int], since: int) -> None:
    concerned = ("a:e", "u:e:/p", "t:e:x", "t:e:y")
    expected = all(purged.get(key, 0) <= since for key in concerned)

    def asked(key: bytes) -> Any:
        return purged.get(key.decode())

    assert CACHE.fresh(asked, b"e", b"/p", b"x, y", since) is expected


@given(st.text("0123456789abcdef-ABCxyz", max_size=60))
def test_a_trace_is_continued_only_if_well_formed(header: str) -> None:
    parts = header.split("-")
    good = (
        [len(part) for part in parts] == [2, 32, 16, 2]
        and parts[0] == "00"
        and all(set(part) <= set("0123456789abcdef") for part in parts)
        and set(parts[1]) != {"0"}
        and set(parts[2]) != {"0"}
    )
    fresh = "0123456789abcdef" * 2
    expected = header[:-3] if good else f"00-{fresh}-89abcdef01234567"
    assert TRACE.parent(header.encode(), fresh.encode(), 0.5, 0.1).decode() == f"{expected}-01"
    assert TRACE.parent(header.encode(), fresh.encode(), 0.5, 0.9).decode() == f"{expected}-00"
    assert TRACE.parent(b"", fresh.encode(), 0.5, 0.9).decode().endswith("-00")


def test_a_visitor_cannot_choose_whether_a_request_is_sampled() -> None:
    for flags in ("00", "01", "ff"):
        given = f"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}".encode()
        for rate, expected in ((0.0, b"00"), (1.0, b"01")):
            assert TRACE.parent(given, b"0123456789abcdef" * 2, rate, 0.5) == given[:-2] + expected


def test_no_two_requests_share_a_trace() -> None:
    make = TRACE.maker(b"0123456789abcdef", LUA.eval(b"function() return 7 end"))
    made = [make() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {len(each) for each in made} == {32}
    assert all(TRACE.id(b"00-" + each + b"-00f067aa0ba902b7-01") == each for each in made)


def test_every_error_page_shows_its_title_and_status() -> None:
    for reason, code in ((b"unknown_host", 404), (b"suspended", 503), (b"loop", 508), (b"nonsense", 500)):
        status, body, _ = PAGES.render(reason)
        assert status == code
        assert f"<small>{code}</small>".encode() in body
