"""Protected previews: nobody gets past the edge without the password or a token."""

import asyncio
import base64
import hashlib
import hmac
import time
import zlib
from secrets import token_hex
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stead.protocol.edge_records import (
    EdgeRedirect,
    FunctionRoute,
    ProtectionRecord,
    RedirectSet,
    RedirectsRecord,
)
from stead.shared.edge_keys import hop_key, preview_key
from tests.edge.edge_harness import BOUND, EdgeHarness
from tests.edge.fastcgi import Reply, Request
from tests.edge.peers import HttpServer
from tests.edge.release_rules import install_rules
from tests.patience import time_limit

PATH = "/_stead/access"
SIGN_IN = "https://api.stead.test/preview-access"


def by_password(password: str, *, everywhere: bool = True) -> ProtectionRecord:
    salt = bytes(range(16))
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1000)
    return ProtectionRecord("password", everywhere, iterations=1000, salt=salt.hex(), digest=digest.hex())


def by_team(key: Ed25519PrivateKey) -> ProtectionRecord:
    public = key.public_key().public_bytes_raw().hex()
    return ProtectionRecord("team", everywhere=True, public_key=public, sign_in=SIGN_IN)


def token(key: Ed25519PrivateKey, env: str, host: str, *, seconds: float = 60, number: str = "") -> str:
    text = f"stead access\n{env}\n{host}\n{int(time.time() + seconds)}\n{number or token_hex(8)}".encode()
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (text, key.sign(text)))


async def enter(
    edge: EdgeHarness, host: str, password: str, to: str = "/", visitor: str = ""
) -> httpx.Response:
    """From an address of its own for each host: a visitor has only a few attempts per second."""
    number = zlib.crc32(host.encode())
    address = visitor or f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number % 253 + 2}"
    transport = httpx.AsyncHTTPTransport(local_address=address)
    async with httpx.AsyncClient(transport=transport, timeout=BOUND) as client:
        url = f"http://127.0.0.1:{edge.port}{PATH}"
        return await client.post(url, data={"password": password, "to": to}, headers={"host": host})


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


async def test_a_password_opens_a_preview_for_one_browser(edge: EdgeHarness) -> None:
    host = await edge.site(
        "locked.test",
        "locked",
        {"index.html": "inside", "a/b.html": "deep"},
        protection=by_password("correct horse"),
    )
    for path in ("/", "/a/b", "/missing", "/_redirects", "/a/b?c=d"):
        refused = await edge.get(host, path)
        assert (refused.status_code, refused.headers["x-stead-reason"]) == (401, "protected"), path
        assert "inside" not in refused.text
        assert refused.headers["cache-control"] == "no-store"
    assert 'value="/a/b?c=d"' in refused.text

    wrong = await enter(edge, host, "wrong horse")
    assert (wrong.status_code, wrong.headers["x-stead-reason"]) == (401, "wrong_password")
    assert "set-cookie" not in wrong.headers
    right = await enter(edge, host, "correct horse", to="/a/b?c=d")
    assert (right.status_code, right.headers["location"]) == (303, "/a/b?c=d")
    assert all(word in right.headers["set-cookie"] for word in ("HttpOnly", "SameSite=Lax", "Path=/"))

    seen = await edge.get(host, "/a/b", headers=cookie_of(right))
    assert (seen.status_code, seen.text) == (200, "deep")
    assert seen.headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert (await edge.get(host, "/missing", headers=cookie_of(right))).status_code == 404
    moved = await edge.get(host, "/a/b/", headers=cookie_of(right))
    assert (moved.status_code, moved.headers["cache-control"]) == (301, seen.headers["cache-control"])


async def test_a_cookie_that_another_preview_has_planted_locks_nobody_out(edge: EdgeHarness) -> None:
    """All previews have one parent domain, and a page can set cookies for it."""
    protection = by_password("correct horse")
    host = await edge.site("planted.test", "planted", {"index.html": "inside"}, protection=protection)
    own = cookie_of(await enter(edge, host, "correct horse"))["cookie"]
    name = own.partition("=")[0]
    for cookies in (
        f"{name}=x; {own}",
        f"a=b; {own}; {name}=1.y",
        f"{name}=1.z; {name}===; {own}",
    ):
        assert (await edge.get(host, headers={"cookie": cookies})).text == "inside", cookies
    flood = "; ".join(f"{name}=1.{number}" for number in range(50))
    assert (await edge.get(host, headers={"cookie": flood})).status_code == 401
    assert (await edge.get(host, headers={"cookie": f"x{own}"})).status_code == 401


async def test_nobody_uses_up_the_comparisons_of_others(edge: EdgeHarness) -> None:
    """Also with right passwords, which never lock anybody out, and from many previews of their own."""
    protection = by_password("correct horse")
    names = [f"mine{number}" for number in range(7)]
    for name in (*names, "theirs"):
        await edge.site(f"{name}.test", name, {"index.html": ""}, protection=protection)

    flood = [
        enter(edge, f"{name}.test", "correct horse", visitor=visitor)
        for name in names * 6
        for visitor in ("127.0.0.66", "127.0.0.67")
    ]
    *answers, other = await asyncio.gather(*flood, enter(edge, "theirs.test", "correct horse"))
    reasons = [answer.headers.get("x-stead-reason") for answer in answers]
    assert reasons.count("busy") > 0, "one visitor has few comparisons per second"
    assert other.status_code == 303, "and leaves those of others alone"


async def test_no_rule_of_the_site_lets_a_cache_share_a_protected_page(edge: EdgeHarness) -> None:
    rules = (
        "/*\n  Cache-Control: public, max-age=3600\n  CDN-Cache-Control: public, max-age=3600\n"
        "  Surrogate-Control: max-age=3600\n  X-Rule: applies\n"
    )
    host = await edge.site(
        "cached.test",
        "cached",
        {"index.html": "inside", "_headers": rules, "_redirects": "/old /new 301!\n"},
        protection=by_password("correct horse"),
    )
    install_rules(edge, "rel-cached")
    cookie = cookie_of(await enter(edge, host, "correct horse"))
    for path in ("/", "/old", "/missing"):
        seen = await edge.get(host, path, headers=cookie)
        assert "public" not in seen.headers["cache-control"], path
        assert not {"cdn-cache-control", "surrogate-control"} & {*seen.headers}, path
    assert (await edge.get(host, headers=cookie)).headers["x-rule"] == "applies"


async def test_a_cookie_is_for_one_host_and_one_password_and_cannot_be_forged(edge: EdgeHarness) -> None:
    protection = by_password("correct horse")
    one = await edge.site("one.locked.test", "one", {"index.html": "one"}, protection=protection)
    two = await edge.site("two.locked.test", "two", {"index.html": "two"}, protection=protection)
    cookie = cookie_of(await enter(edge, one, "correct horse"))
    assert (await edge.get(one, headers=cookie)).status_code == 200
    assert (await edge.get(two, headers=cookie)).status_code == 401
    name, _, value = cookie["cookie"].partition("=")
    expires, _, mac = value.partition(".")
    for forged in (f"{int(expires) + 1}.{mac}", f"{expires}.{'A' * 43}", f"{expires}.", "1.1", "", mac):
        assert (await edge.get(one, headers={"cookie": f"{name}={forged}"})).status_code == 401, forged
    await edge.environment("one", release="rel-one", protection=by_password("another one"))
    assert (await edge.get(one, headers=cookie)).status_code == 401
    await edge.environment("one", release="rel-one")
    assert (await edge.get(one)).status_code == 200
    assert (await edge.get(one, PATH)).status_code == 404


async def test_another_node_of_the_region_cannot_make_a_cookie(edge: EdgeHarness) -> None:
    """All nodes have the key of the region. The key for cookies is the hosting node's own."""
    region, own = hop_key(bytes(32)), preview_key(bytes(range(32)))
    await edge.admin.set_hop_keys([region])
    await edge.admin.set_preview_key(own)
    protection = by_password("correct horse")
    host = await edge.site("homed.test", "homed", {"index.html": "inside"}, protection=protection)
    expires = str(int(time.time()) + 3600)
    said = "\n".join(("access", "env_homed", host, protection.salt + protection.digest, expires)).encode()
    for key, status in ((region, 401), (region.hex().encode(), 401), (own.hex().encode(), 200)):
        made = base64.urlsafe_b64encode(hmac.digest(key, said, "sha256")).rstrip(b"=").decode()
        cookie = {"cookie": f"stead_access={expires}.{made}"}
        assert (await edge.get(host, headers=cookie)).status_code == status
    entered = cookie_of(await enter(edge, host, "correct horse"))
    assert (await edge.get(host, headers=entered)).text == "inside"
    await edge.admin.set_hop_keys([])


async def test_guessing_is_stopped(edge: EdgeHarness) -> None:
    host = await edge.site(
        "guessed.test", "guessed", {"index.html": ""}, protection=by_password("correct horse")
    )
    seen = set[str]()
    # Passwords are compared only a few times per second, and only those count.
    async with time_limit(30.0):
        while "locked_out" not in seen:
            answer = await enter(edge, host, f"guess number {len(seen)}")
            seen.add(answer.headers["x-stead-reason"])
    assert seen - {"busy"} == {"wrong_password", "locked_out"}
    assert (await enter(edge, host, "correct horse")).status_code == 429


@pytest.mark.parametrize(
    "to", ["//evil.test", "/\\evil.test", "https://evil.test", "", "/a b", PATH, "/x\r\ny"]
)
async def test_nobody_is_sent_to_another_host(edge: EdgeHarness, to: str) -> None:
    # A host of its own: passwords are compared only a few times per second for each.
    name = f"sent{abs(hash(to))}"
    host = await edge.site(f"{name}.test", name, {"index.html": ""}, protection=by_password("correct horse"))
    answer = await enter(edge, host, "correct horse", to=to)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    page = await edge.get(host, '/"><script>alert(1)</script>')
    assert "<script>" not in page.text


async def test_a_large_or_odd_form_is_refused(edge: EdgeHarness) -> None:
    host = await edge.site("form.test", "form", {"index.html": ""}, protection=by_password("correct horse"))
    large = await edge.get(host, PATH, method="POST", data={"password": "x" * 20_000})
    assert large.status_code == 413
    for content in (b"", b"password", b"password=a&password=correct+horse", b"\xff\xfe=1"):
        odd = await edge.get(host, PATH, method="POST", content=content)
        assert odd.status_code in (401, 503), content


async def test_a_member_of_the_team_comes_with_a_token(edge: EdgeHarness) -> None:
    key = Ed25519PrivateKey.generate()
    host = await edge.site("team.test", "team", {"index.html": "inside"}, protection=by_team(key))
    refused = await edge.get(host, "/page?x=1")
    assert refused.status_code == 401
    link = refused.text.partition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert link.startswith(f"{SIGN_IN}?")
    assert parse_qs(urlsplit(link).query) == {"host": [host], "scheme": ["http"], "to": ["/page?x=1"]}

    good = token(key, "env_team", host)
    entered = await edge.get(host, f"{PATH}?token={good}&to=%2Fpage")
    assert (entered.status_code, entered.headers["location"]) == (303, "/page")
    assert (await edge.get(host, headers=cookie_of(entered))).text == "inside"
    assert (await edge.get(host, f"{PATH}?token={good}&to=%2F")).status_code == 401, "a token works once"

    for bad in (
        token(Ed25519PrivateKey.generate(), "env_team", host),
        token(key, "env_other", host),
        token(key, "env_team", "other.test"),
        token(key, "env_team", host, seconds=-5),
        token(key, "env_team", host, seconds=3600),
        good[:-4],
        "x.y",
        ".",
        "",
    ):
        assert (await edge.get(host, f"{PATH}?token={bad}")).status_code == 401, bad
    assert (await enter(edge, host, "")).status_code == 401

    await edge.environment("team", release="rel-team", protection=by_team(Ed25519PrivateKey.generate()))
    assert (await edge.get(host, headers=cookie_of(entered))).status_code == 401


async def test_production_is_open_also_if_its_permanent_urls_are_protected(edge: EdgeHarness) -> None:
    protection = by_password("correct horse", everywhere=False)
    host = await edge.site("open.test", "open", {"index.html": "open"}, protection=protection)
    assert (await edge.get(host)).text == "open"


async def test_redirects_and_applications_are_protected_too(edge: EdgeHarness) -> None:
    protection = by_password("correct horse")
    await edge.site(
        "moved.test", "moved", {"index.html": ""}, protection=protection, redirects=RedirectSet("v1")
    )
    await edge.tell("redirects", "site_moved.0", RedirectsRecord("v1", (EdgeRedirect("/a", "/b", 301),)))
    assert (await edge.get("moved.test", "/a")).status_code == 401
    application = await edge.application("shielded")
    await edge.site("shielded.test", "shielded", None, runtime="cms", protection=protection)
    for path in ("/", "/wp-login.php", "/style.css", "/_fn/x"):
        assert (await edge.get("shielded.test", path)).status_code == 401, path
    assert application.seen == []


async def test_functions_are_protected_and_count_nobody_who_may_not_call_them(edge: EdgeHarness) -> None:
    host = await edge.site(
        "guarded.test",
        "guarded",
        {"index.html": "inside"},
        runtime="wasm",
        functions=tuple(FunctionRoute(path, "fnv_guarded", 2, 1000) for path in ("/_fn/x", "/api")),
        protection=by_password("correct horse"),
    )
    (edge.data / "fn").mkdir(mode=0o755, exist_ok=True)
    function = HttpServer(edge.data / "fn" / "guarded", lambda _: (200, b"function"))
    await function.start()
    try:
        for path in ("/", "/_fn/x", "/_fn/x/deep", "/_fn/none", "/api", "/api/deep", "//api"):
            for method in ("GET", "POST"):
                refused = await edge.get(host, path, method=method)
                assert (refused.status_code, refused.headers["x-stead-reason"]) == (401, "protected"), path
        assert function.seen == []
        cookie = cookie_of(await enter(edge, host, "correct horse"))
        called = await edge.get(host, "/_fn/x", headers=cookie)
        assert (called.status_code, called.text) == (200, "function")
        file = await edge.get(host, "/", headers=cookie)
        assert (file.status_code, file.text) == (200, "inside")
        for answer in (called, file):
            assert answer.headers["cache-control"] == "private, max-age=0, must-revalidate"
    finally:
        await function.stop()


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("public, max-age=3600", "private, max-age=0, must-revalidate"),
        ("", "private, max-age=0, must-revalidate"),
        ('private="x-name", max-age=60', "private, max-age=0, must-revalidate"),
        ("no-store, private", "no-store, private"),
    ],
)
async def test_what_a_protected_application_answers_is_not_shared(
    edge: EdgeHarness, sent: str, shown: str
) -> None:
    name = f"private{abs(hash(sent))}"
    application = await edge.application(name)

    async def reply(_: Request) -> Reply:
        shared = ("CDN-Cache-Control", "public, max-age=3600")
        return Reply(b"inside", headers=(shared, ("Cache-Control", sent)) if sent else (shared,))

    application.handler = reply
    host = f"{name}.test"
    await edge.site(host, name, None, runtime="cms", protection=by_password("correct horse"))
    cookie = cookie_of(await enter(edge, host, "correct horse"))
    seen = await edge.get(host, "/", headers=cookie)
    assert (seen.status_code, seen.headers["cache-control"]) == (200, shown)
    assert "cdn-cache-control" not in seen.headers
