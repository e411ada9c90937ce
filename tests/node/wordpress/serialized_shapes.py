"""Values as plugins keep them in a database: serialized by PHP in every shape, JSON, blocks, broken ones."""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote

from tests.node.wordpress.php_values import serialize

LONG_URLS = 20_000
DEPTH = 1000


def follow(host: str, number: int, original: str) -> Mapping[str, bytes]:
    """Values whose URLs follow the site to another host. Where `original` is named, they must not."""
    url = f"https://{host}/page-{number}/".encode()
    key = f"https://{original}/page-{number}/".encode()
    inner = serialize({b"url": url, b"n": number})
    text = url.decode()
    escaped = json.dumps({"u": text, "t": "grün 🦊"}).replace("/", "\\/")
    attributes = {"id": number, "url": text, "html": f'<a href="{text}">x</a>'}
    block = json.dumps(attributes).replace("<", "\\u003c").replace(">", "\\u003e").replace('\\"', "\\u0022")
    return {
        "text": url,
        "string": serialize(url),
        "list": serialize({0: url, 1: b"", 2: url}),
        "scalars": serialize({0: None, 1: True, 2: False, 3: -(2**62), 4: 0.1, 5: 1e100, 6: url}),
        "nested": serialize({b"a": {b"b": {b"c": {b"d": {b"e": {0: url, 1: {}}}}}}}),
        "deep": b"a:1:{i:0;" * DEPTH + serialize(url) + b"}" * DEPTH,
        "keys": serialize({key: url, b"": url, 7: url, -7: url}),
        "object": serialize(("stdClass", {b"url": url, b"list": {0: url}})),
        "unknown class": serialize(("Vendor\\Plugin\\Settings", {b"\0*\0url": url, b"\0X\0y": 1})),
        "objects": serialize({0: ("A", {b"u": url}), 1: ("B", {b"a": ("A", {b"u": url})})}),
        "reference": b"a:3:{i:0;" + serialize(url) + b"i:1;R:2;i:2;" + serialize(url) + b"}",
        "circle": b'O:8:"stdClass":2:{s:1:"a";' + serialize(url) + b's:4:"self";r:1;}',
        "multibyte": serialize(
            {"schlüssel 日本".encode(): "日本語 ü 🦊🦊 ".encode() + url + "é\u0301".encode()}
        ),
        "punctuation": serialize({0: b'";}a:1:{i:0;s:3:"' + url + b"\\' \r\n\t\0\x01", 1: url}),
        "serialized twice": serialize(inner),
        "serialized four times": serialize({0: serialize(serialize({b"x": inner}))}),
        "broken inside": serialize({0: b'a:1:{i:0;s:99:"' + key + b'";}', 1: url}),
        "JSON": json.dumps({"u": text, "n": [text, 1.5, None]}).encode(),
        "JSON with escaped slashes": escaped.encode(),
        "JSON twice": json.dumps({"j": escaped}).encode(),
        "JSON inside": serialize({b"settings": escaped.encode(), b"u": url}),
        "serialized in JSON": json.dumps({"s": inner.decode(), "u": text}).encode(),
        "block": f'<!-- wp:vendor/card {block} --><img src="{text}a.jpg"><!-- /wp:vendor/card -->'.encode(),
        "blocks inside": serialize({b"content": f"<!-- wp:x {block} /--><p>{text}</p>".encode()}),
        "encoded for a URL": f"?to={_quote(text)}&again={_quote(_quote(text))}".encode(),
        "encoded for HTML": text.replace("/", "&#x2F;").encode(),
        "without a scheme": serialize({0: f"//{host}/a.png".encode(), 1: f"wss://{host}/".encode()}),
        "session": b"cart|" + inner + b"user|i:1;",
        "many addresses": serialize(dict(enumerate([url, b"mail@" + original.encode()] * 20))),
        "white space around": b" " + serialize({0: url}) + b"\n",
    }


def follow_long(host: str) -> Mapping[str, bytes]:
    """Those of several megabytes."""
    url = f"https://{host}/".encode()
    pages = {number: url + b"page-%d" % number for number in range(LONG_URLS)}
    return {
        "many strings": serialize(pages),
        "one long string": serialize({0: b" ".join(pages.values()), 1: "ü".encode() * 500_000 + url}),
        "long text": b"<p>" + b"</p><p>".join(pages.values()) + b"</p>",
    }


def stay(host: str, number: int) -> Mapping[str, bytes]:
    """Values that no copy may change by a byte: broken before, not to be changed safely, or not a URL of the
    site."""
    url = f"https://{host}/page-{number}/".encode()
    inner = serialize({b"url": url, b"n": number})
    name = host.encode()
    return {
        "wrong length": b'a:1:{i:0;s:99:"' + url + b'";}',
        "wrong number": b"a:2:{i:0;" + serialize(url) + b"}",
        "cut by its column": serialize({0: number, 1: url + b"x" * 100})[: 40 + len(url)],
        "cut in a string": inner[: len(inner) // 2] + b";",
        "cut at the end": serialize({0: {0: url}})[:-1],
        "more after the end": inner + b"}",
        "format of a class": b'C:3:"Abc":%d:{%b}' % (len(inner), inner),
        "Base64": b64encode(inner),
        "Base64 inside": serialize({b"data": b64encode(inner)}),
        "compressed": b64encode(zlib.compress(inner)),
        "serialized, encoded for a URL": _quote(inner.decode()).encode(),
        "serialized, encoded for HTML": inner.replace(b'"', b"&quot;"),
        "serialized in JSON in JSON": json.dumps({"j": json.dumps({"s": inner.decode()})}).encode(),
        "mail address": serialize({0: b"editor@" + name, 1: b"mailto:editor@" + name}),
        "other hosts": serialize({0: b"https://" + name + b".example/", 1: b"https://www." + name + b"/"}),
        "another port": serialize({0: b"https://" + name + b":8443/"}),
        "a name": serialize({0: name, 1: name + b"/page"}),
        "nothing": serialize({0: None, 1: False, 2: b"", 3: {}, 4: -0.5, 5: 2**62}),
        "false": serialize(False),
        "empty": b"",
    }


def binary(host: str) -> Mapping[str, bytes]:
    """For columns of bytes, also such that are no text. URLs follow the site."""
    url = f"https://{host}/".encode()
    return {
        "bytes": serialize({0: bytes(range(256)), 1: url, 2: b"\xff\xfe" + url + b"\x80"}),
        "text": "Grün: ".encode() + url,
    }


def _quote(text: str) -> str:
    return quote(text, safe="")
