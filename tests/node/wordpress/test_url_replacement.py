"""URLs get another host wherever they are, and PHP reads every serialized value as before."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.node.wordpress.url_replacement import ReplacementCounts, UrlReplacement
from tests.node.wordpress.php_reader import PhpReader, php_reader
from tests.node.wordpress.php_values import serialize

OLD, NEW = "site.test", "staging.site.test"
REPLACEMENT = UrlReplacement.between([OLD], NEW)


def replace(value: str | bytes) -> tuple[bytes, ReplacementCounts]:
    counts = ReplacementCounts()
    data = value.encode() if isinstance(value, str) else value
    return REPLACEMENT.replace(data, counts), counts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("https://site.test/a?b#c", "https://staging.site.test/a?b#c"),
        ("http://site.test", "https://staging.site.test"),
        ("HTTPS://Site.TEST/", "https://staging.site.test/"),
        ("<img src='//site.test/x.png'>", "<img src='//staging.site.test/x.png'>"),
        ("wss://site.test/socket", "wss://staging.site.test/socket"),
        (r'{"u":"https:\/\/site.test\/a"}', r'{"u":"https:\/\/staging.site.test\/a"}'),
        (r"https:\\\/\\\/site.test\\\/a", r"https:\\\/\\\/staging.site.test\\\/a"),
        (r"https:\u002F\u002Fsite.test\u002f", r"https:\u002F\u002Fstaging.site.test\u002f"),
        ("?to=https%3A%2F%2Fsite.test%2Fa", "?to=https%3A%2F%2Fstaging.site.test%2Fa"),
        ("http%3a%2f%2fsite.test", "https%3a%2f%2fstaging.site.test"),
        ("https%253A%252F%252Fsite.test%252F", "https%253A%252F%252Fstaging.site.test%252F"),
        ("https:&#x2F;&#x2F;site.test&#47;", "https:&#x2F;&#x2F;staging.site.test&#47;"),
        ("See https://site.test.", "See https://staging.site.test."),
        ("https://site.test https://site.test", "https://staging.site.test https://staging.site.test"),
        (
            '<!-- wp:image {"id":7,"url":"https://site.test/a.jpg"} --><img src="https://site.test/a.jpg">',
            '<!-- wp:image {"id":7,"url":"https://staging.site.test/a.jpg"} -->'
            '<img src="https://staging.site.test/a.jpg">',
        ),
        # Other hosts, other ports, and what is no URL.
        *(
            (text, text)
            for text in (
                "",
                "editor@site.test, site.test, mailto:editor@site.test",
                "https://site.testing/ https://site.test-2.example/ https://site.test.example/",
                "https://www.site.test/ https://my-site.test/",
                "https://site.test:8443/ https%3A%2F%2Fsite.test%3A8443",
                "https://site.test@evil.example/ https://site.test:secret@evil.example/",
                "https://staging.site.test/",
            )
        ),
    ],
)
def test_a_host_is_replaced_where_a_url_names_it(before: str, after: str) -> None:
    changed, counts = replace(before)
    assert changed.decode() == after
    assert (counts.broken, counts.unsupported) == (0, 0)
    assert replace(changed)[0] == changed, "a second pass changes nothing"


def test_several_hosts_are_replaced_also_if_one_begins_or_ends_like_another() -> None:
    several = UrlReplacement.between(["site.test", "www.site.test", "site.test.example"], "new.example")
    text = b"//site.test //www.site.test //site.test.example //other.site.test //site.test.examples"
    expected = b"//new.example //new.example //new.example //other.site.test //site.test.examples"
    assert several.replace(text, ReplacementCounts()) == expected


def test_an_international_host_is_replaced_in_both_forms() -> None:
    found = UrlReplacement.between(["xn--bcher-kva.example"], "new.example")
    text = "https://xn--bcher-kva.example/ https://bücher.example/".encode()
    assert found.replace(text, ReplacementCounts()) == b"https://new.example/ https://new.example/"


URL = "https://site.test/"
_OBJECT = serialize(("Some\\Unknown\\Class", {b"\0*\0url": URL.encode(), b"n": 1}))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b'a:1:{i:0;s:99:"https://site.test/";}', "broken"),
        (b'a:2:{i:0;s:18:"https://site.test/";}', "broken"),
        (b'a:1:{i:0;s:18:"https://site.test/";}}', "broken"),
        # Cut by a column that was too short.
        (b'a:2:{i:0;s:18:"https://site.test/";i:1;s:30:"https://site.test/abc', "broken"),
        (b's:30:"https://site.test/abc', "broken"),
        (b' O:3:"abc":1:{s:1:"u";s:30:"https://site.test/abc', "broken"),
        (b'O:3:"abcd":1:{s:1:"u";s:18:"https://site.test/";}', "broken"),
        (b'C:3:"Abc":23:{x:s:18:"https://site.test/"}', "broken"),
        (b'C:3:"Abc":28:{x:s:18:"https://site.test/";}', "unsupported"),
        (b"a%3A1%3A%7Bi%3A0%3Bs%3A18%3A%22https%3A%2F%2Fsite.test%2F%22%3B%7D", "unsupported"),
        (b"x: s:18:&quot;https://site.test/&quot;", "unsupported"),
        (b"x: s:18:&#x22;https://site.test/&#x22;", "unsupported"),
        (rb'{"d":"x|a:1:{i:0;s:18:\"https://site.test/\";}"}', "unsupported"),
        (rb"x a:1:{i:0;s:18:\\\"https://site.test/\\\";}", "unsupported"),
        (rb"y a:1:{i:0;s:18:\u0022https://site.test/\u0022;}", "unsupported"),
        (b64encode(b"before https://site.test/ after"), "base64"),
        (b64encode(b"efore https://site.test/ after"), "base64"),
        (b64encode(b"fore https://site.test/ after"), "base64"),
    ],
)
def test_a_value_that_cannot_be_changed_safely_stays_and_is_counted(value: bytes, kind: str) -> None:
    changed, counts = replace(value)
    assert changed == value
    assert (counts.urls, getattr(counts, kind)) == (0, 1)


def test_a_value_that_only_looks_serialized_at_every_level_takes_no_long_time() -> None:
    """Without a limit, each level doubles the time: 32 of them would never end."""
    value = b"https://site.test/"
    for _ in range(30):
        value = b'x a:1:{i:0;s:%d:"%b";!' % (len(value), value)
    changed, counts = replace(value)
    assert (changed, counts.unsupported) == (value, 1)


def test_a_broken_string_inside_a_good_value_stays_and_the_rest_is_changed() -> None:
    broken = b'a:1:{i:0;s:99:"https://site.test/";}'
    changed, counts = replace(serialize({0: broken, 1: URL.encode()}))
    assert changed == serialize({0: broken, 1: b"https://staging.site.test/"})
    assert (counts.broken, counts.urls) == (1, 1)


@pytest.fixture(scope="module")
def php() -> Iterator[PhpReader]:
    with php_reader() as reader:
        yield reader


TABLE: list[tuple[bytes, bytes]] = [
    # An object of a class that does not exist, references, an enumeration, the old binary form.
    (_OBJECT, serialize(("Some\\Unknown\\Class", {b"\0*\0url": b"https://staging.site.test/", b"n": 1}))),
    (
        b'a:3:{i:0;s:18:"https://site.test/";i:1;R:2;i:2;d:0.5;}',
        b'a:3:{i:0;s:26:"https://staging.site.test/";i:1;R:2;i:2;d:0.5;}',
    ),
    (
        b'O:8:"stdClass":2:{s:1:"a";s:18:"https://site.test/";s:1:"b";r:1;}',
        b'O:8:"stdClass":2:{s:1:"a";s:26:"https://staging.site.test/";s:1:"b";r:1;}',
    ),
    (b'a:1:{i:0;S:18:"https:\\2f/site.test/";}', b'a:1:{i:0;s:26:"https://staging.site.test/";}'),
    # Keys stay.
    (
        serialize({URL.encode(): URL.encode()}),
        serialize({URL.encode(): b"https://staging.site.test/"}),
    ),
    # Quotes and braces inside strings mean nothing.
    (
        serialize({0: b'";}a:1:{https://site.test/', 1: "ü🦊//site.test".encode()}),
        serialize({0: b'";}a:1:{https://staging.site.test/', 1: "ü🦊//staging.site.test".encode()}),
    ),
]


@pytest.mark.parametrize(("before", "after"), TABLE)
def test_serialized_values_of_every_kind_are_read_by_php(php: PhpReader, before: bytes, after: bytes) -> None:
    assert php.read(before) != b"broken"
    assert replace(before)[0] == after
    assert php.read(after) != b"broken"


def test_very_deep_values_are_changed_without_recursion(php: PhpReader) -> None:
    inner = serialize(URL.encode())
    before = b"a:1:{i:0;" * 4000 + inner + b"}" * 4000
    assert php.read(replace(before)[0]) not in (b"broken", b"")
    assert replace(b"a:1:{i:0;" * 5000 + inner + b"}" * 5000)[1].broken == 1, "PHP refuses this, too"


def test_serialized_values_inside_other_text_keep_their_lengths() -> None:
    one = serialize({b"u": URL.encode()})
    other = serialize({b"u": b"https://staging.site.test/"})
    assert replace(b"cart|" + one + b"user|i:1;")[0] == b"cart|" + other + b"user|i:1;"
    before = json.dumps({"a": one.decode(), "b": URL})
    assert json.loads(replace(before)[0]) == {"a": other.decode(), "b": "https://staging.site.test/"}
    escaped = before.replace("/", "\\/")
    assert replace(escaped)[0] == json.dumps(json.loads(replace(before)[0])).replace("/", "\\/").encode()


_PIECES = ["https://site.test/", "http://site.test", "//site.test/ü", "🦊", '";}', "a:1:{", "site.test", "\0"]
_WORDS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=5), max_size=4).map("".join)
_KEYS = st.integers(-(2**40), 2**40) | st.text(max_size=6).map(str.encode)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | _WORDS.map(str.encode)
)


def _nested(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = st.dictionaries(_KEYS, values, max_size=4)
    return (
        arrays
        | arrays.map(lambda pairs: ("stdClass", {str(key).encode(): value for key, value in pairs.items()}))
        | values.map(lambda value: ["serialized", value])
        | values.map(lambda value: ["json", value])
    )


_VALUES = st.recursive(_SCALARS, _nested, max_leaves=12)


def build(value: Any, *, replaced: bool) -> Any:
    """The value for `serialize`: with inner values serialized, and with replaced URLs if asked for."""
    match value:
        case bytes():
            return REPLACEMENT.replace(value, ReplacementCounts()) if replaced else value
        case ["serialized", inner]:
            return serialize(build(inner, replaced=replaced))
        case ["json", inner]:
            return json.dumps({"x": serialize(build(inner, replaced=replaced)).decode()}).encode()
        case (str(name), dict(properties)):
            return name, {key: build(inner, replaced=replaced) for key, inner in properties.items()}
        case dict():
            return {key: build(inner, replaced=replaced) for key, inner in value.items()}
    return value


def _is_plain(value: Any) -> bool:
    """Not JSON in JSON: such values stay as they are, which is tested elsewhere."""
    match value:
        case ["json", inner]:
            return b"json" not in repr(inner).encode() and _is_plain(inner)
        case [_, inner]:
            return _is_plain(inner)
        case (str(), dict(properties)):
            return all(map(_is_plain, properties.values()))
        case dict():
            return all(map(_is_plain, value.values()))
    return True


@settings(max_examples=300, deadline=None)
@given(value=_VALUES)
def test_php_reads_the_expected_value_whatever_is_nested(php: PhpReader, value: Any) -> None:
    before = serialize(build(value, replaced=False))
    if php.read(before) == b"broken":
        return
    changed, counts = replace(before)
    if not _is_plain(value):
        assert php.read(changed) != b"broken"
        return
    assert counts.broken == 0 or b"a:1:{" in before
    expected = serialize(build(value, replaced=True))
    assert php.read(changed) == php.read(expected)
