"""Redirects in Lua, compared with a model that tries all rules."""

from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from tests.edge.lua import module, runtime

LUA = runtime()
REDIRECTS = module(LUA, "redirects")
BASE = b"site\nv1\n"

path = st.lists(st.sampled_from(["a", "b", "*", "%41", "ü", "/"]), max_size=5).map(
    lambda parts: "/" + "".join(parts)
)
rule = st.tuples(path, st.booleans()).map(lambda given: given[0].rstrip("*") + ("*" if given[1] else ""))
rules = st.dictionaries(rule.filter(bool), st.sampled_from([301, 302, 307, 308]), max_size=12)


def naive(wanted: dict[str, int], asked: str) -> tuple[str, str | None] | None:
    if asked in wanted and not asked.endswith("*"):
        return asked, None
    prefixes = [each for each in wanted if each.endswith("*") and asked.startswith(each[:-1])]
    if not prefixes:
        return None
    best = max(prefixes, key=len)
    return best, asked[len(best) - 1 :]


@given(rules, path)
def test_the_most_specific_redirect_is_chosen(wanted: dict[str, int], asked: str) -> None:
    kept = {BASE + name.encode(): (b"to " + name.encode(), code) for name, code in wanted.items()}
    lengths = sorted({len(name.encode()) - 1 for name in wanted if name.endswith("*")}, reverse=True)
    found = REDIRECTS.find(lambda key: kept.get(key), BASE, LUA.table_from(lengths), asked.encode())
    expected = naive(wanted, asked)
    if expected is None:
        assert found is None
    else:
        chosen, rest = expected
        assert found[0] == b"to " + chosen.encode()
        assert found[1] == wanted[chosen]
        assert found[2] == (None if rest is None else rest.encode())


@given(
    st.sampled_from([b"/*", b"/new/*", b"https://other.example/*", b"https://other.example*", b"/fixed"]),
    st.binary(max_size=30),
    st.binary(max_size=10).map(lambda raw: raw.replace(b"\0", b"")),
)
def test_a_request_cannot_redirect_to_another_site(to: bytes, rest: bytes, args: bytes) -> None:
    where = REDIRECTS.location(to, rest, args)
    assert not any(char < 0x20 or char == 0x7F for char in where)
    text = where.decode("latin-1")
    if to.startswith(b"/"):
        assert text.startswith("/")
        assert not text.startswith(("//", "/\\"))
    else:
        assert urlsplit(text).netloc == "other.example"


def test_a_query_is_kept_unless_the_redirect_has_one() -> None:
    assert REDIRECTS.location(b"/new", None, b"a=1") == b"/new?a=1"
    assert REDIRECTS.location(b"/new?x=2", None, b"a=1") == b"/new?x=2"
    assert REDIRECTS.location(b"/n/*", b"a b", None) == b"/n/a%20b"
