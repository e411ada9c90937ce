"""Applications behind the inner tier: their parameters, the firewall, and failed sign-ins."""

import json
import os

import pytest

from tests.edge.edge_harness import EdgeHarness, status_of
from tests.edge.fastcgi import Application, Reply, Request

ATTACK = "/?id=1%20union%20select%20password%20from%20users--&x=<script>alert(1)</script>"


@pytest.fixture(scope="module")
async def app(edge: EdgeHarness) -> Application:
    made = await edge.application("app")
    current = edge.data / "environments" / "env_app" / "current"
    (current / "wp-admin").mkdir()
    for name in ("wp-login.php", "wp-admin/index.php", "wp-admin/post.php"):
        (current / name).write_text("<?php")
    await edge.site("app.test", "app", None, runtime="cms", waf="off")
    return made


@pytest.mark.parametrize(
    ("path", "script", "info"),
    [
        ("/", "/index.php", ""),
        ("/hello/world?a=1", "/index.php", ""),
        ("/wp-login.php", "/wp-login.php", ""),
        ("/wp-admin/", "/wp-admin/index.php", ""),
        ("/wp-admin/post.php?post=1", "/wp-admin/post.php", ""),
        ("/wp-login.php/more", "/wp-login.php", "/more"),
        ("/missing.php", "/index.php", ""),
        ("/image.jpg/x.php", "/index.php", ""),
    ],
)
async def test_an_existing_script_is_run_or_else_the_front_controller(
    edge: EdgeHarness, app: Application, path: str, script: str, info: str
) -> None:
    told = (await edge.get("app.test", path)).json()
    assert (told["SCRIPT_FILENAME"], told["DOCUMENT_ROOT"]) == (f"/srv/site{script}", "/srv/site")
    assert (told["PATH_INFO"] if script != "/index.php" else "") == info
    assert told["REQUEST_URI"] == path
    assert told["HTTP_HOST"] == "app.test"
    assert told["REMOTE_ADDR"] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "shell.php",
            "SHELL.PHP",
            "2026/11/shell.php/x",
            "shell.phtml",
            "shell.php.jpg.php",
            "shell.php?a=1",
        ),
        *("shell%2ephp", "missing.jpg", "", "a/..%2fshell.php"),
    ],
)
async def test_no_request_below_uploads_reaches_the_application(
    edge: EdgeHarness, app: Application, path: str
) -> None:
    uploads = edge.data / "environments" / "env_app" / "current" / "wp-content" / "uploads"
    uploads.mkdir(parents=True, exist_ok=True)
    for name in ("shell.php", "SHELL.PHP", "shell.phtml", "shell.php.jpg.php"):
        (uploads / name).write_text("<?php echo 'run';")
    before = len(app.seen)
    for folder in ("/wp-content/uploads/", "/WP-Content/Uploads/", "//wp-content//uploads/"):
        answer = await edge.get("app.test", f"{folder}{path}")
        assert answer.status_code == 404
        assert "<?php" not in answer.text
    assert len(app.seen) == before


async def test_files_beside_the_scripts_are_served_unchanged(edge: EdgeHarness, app: Application) -> None:
    current = edge.data / "environments" / "env_app" / "current"
    (current / "style.css").write_text("body{}")
    (current / "wp-config.php").write_text("<?php $password")
    (current / ".secret.txt").write_text("hidden")
    before = len(app.seen)
    answer = await edge.get("app.test", "/style.css?ver=6")
    assert (answer.text, answer.headers["content-type"]) == ("body{}", "text/css; charset=utf-8")
    assert len(app.seen) == before
    (current / "style.css").write_text("body{changed}")
    assert (await edge.get("app.test", "/style.css")).text == "body{changed}"
    for path in ("/made-by-program.css", "/wp-config.php", "/.secret.txt", "/style.css/x.php"):
        assert "SCRIPT_FILENAME" in (await edge.get("app.test", path)).text
    assert "SCRIPT_FILENAME" in (await edge.get("app.test", "/style.css", method="POST")).text


async def test_an_application_cannot_link_to_files_of_other_owners(
    edge: EdgeHarness, app: Application
) -> None:
    current = edge.data / "environments" / "env_app" / "current"
    victim = edge.data / "not-its-own.txt"
    victim.write_text("somebody else's")
    (current / "link.txt").symlink_to(victim)
    os.chown(current / "link.txt", 65534, 65534, follow_symlinks=False)
    assert "somebody" not in (await edge.get("app.test", "/link.txt")).text


async def test_a_form_arrives_unchanged(edge: EdgeHarness, app: Application) -> None:
    answer = await edge.get("app.test", "/form", method="POST", data={"a": "ü"})
    told = answer.json()
    assert (told["REQUEST_METHOD"], told["body"]) == ("POST", "a=%C3%BC")
    assert answer.headers["x-cache"] == "BYPASS"
    big = await edge.get("app.test", "/form", method="POST", content=b"x" * 3_000_000)
    assert len(big.json()["body"]) == 3_000_000


async def test_an_application_cannot_control_nginx_or_fake_a_firewall_verdict(
    edge: EdgeHarness, app: Application
) -> None:
    async def steer(_: Request) -> Reply:
        steering = (
            ("X-Accel-Redirect", "/other"),
            ("X-Stead-Verdict", "blocked"),
            ("X-Stead-Reason", "suspended"),
        )
        return Reply(b"mine", headers=steering)

    echo, app.handler = app.handler, steer
    try:
        answer = await edge.get("app.test", "/steer")
    finally:
        app.handler = echo
    assert (answer.status_code, answer.text) == (200, "mine")
    assert not {"x-accel-redirect", "x-stead-verdict", "x-stead-reason"} & set(answer.headers)
    assert (await edge.ledgered("/steer"))["waf"] == ""


async def test_a_stopped_application_is_reported_as_unreachable(edge: EdgeHarness) -> None:
    await edge.site("absent.test", "absent", None, runtime="cms")
    absent = edge.data / "environments" / "env_absent" / "current"
    absent.mkdir(parents=True)
    (absent / "index.php").write_text("<?php")
    answer = await edge.get("absent.test")
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (502, "origin_unreachable")


@pytest.mark.parametrize(
    ("mode", "path", "code", "verdict"),
    [
        ("on", "/on-attack", 403, "blocked"),
        ("on", "/on-fine", 200, "pass"),
        ("detection", "/detection-attack", 200, "detected"),
        ("detection", "/detection-fine", 200, "pass"),
        ("off", "/off-attack", 200, ""),
    ],
)
async def test_the_verdict_of_the_firewall_is_in_the_ledger(
    edge: EdgeHarness, app: Application, mode: str, path: str, code: int, verdict: str
) -> None:
    await edge.environment("app", runtime="cms", waf=mode)
    before = len(app.seen)
    query = ATTACK[1:] if "attack" in path else "?q=hello"
    answer = await edge.get("app.test", path + query)
    assert answer.status_code == code
    assert len(app.seen) - before == (0 if code == 403 else 1)
    if code == 403:
        assert answer.headers["x-stead-reason"] == "blocked"
    else:
        assert json.loads(answer.text)["SCRIPT_FILENAME"] == "/srv/site/index.php"
    assert "x-stead-verdict" not in answer.headers
    assert (await edge.ledgered(path))["waf"] == verdict


@pytest.mark.parametrize(("mode", "code"), [("on", 403), ("detection", 200)])
async def test_the_firewall_reads_request_bodies(
    edge: EdgeHarness, app: Application, mode: str, code: int
) -> None:
    await edge.environment("app", runtime="cms", waf=mode)
    sent = {"comment": "<script>alert(document.cookie)</script>' or 1=1 union select 1,2,3 -- "}
    answer = await edge.get("app.test", f"/post-{mode}", method="POST", data=sent)
    assert answer.status_code == code
    if code == 200:
        assert answer.json()["REQUEST_METHOD"] == "POST"
        assert "script" in answer.json()["body"]


async def test_an_address_is_locked_out_after_five_failed_sign_ins(
    edge: EdgeHarness, app: Application
) -> None:
    async def sign_in(request: Request) -> Reply:
        if request.params["REQUEST_METHOD"] == "POST" and request.body == b"pwd=right":
            return Reply(status=302, headers=(("Location", "/wp-admin/"), ("Set-Cookie", "wordpress_x=1")))
        return Reply(b"the form")

    await edge.environment("app", runtime="cms", waf="off", login_lockout=True, cache_ttl=60)
    echo, app.handler = app.handler, sign_in
    try:
        for _ in range(4):
            assert (await post(edge, b"pwd=wrong")) == 200
        assert await post(edge, b"pwd=right") == 302
        for path in (
            "/wp-login.php",
            "//wp-login.php",
            "/./wp-login.php",
            "/wp-login.php/x",
            "/wp-login%2ephp",
        ):
            assert await post(edge, b"pwd=wrong", path) == 200
        before = len(app.seen)
        answer = await edge.get("app.test", "/wp-login.php", method="POST", content=b"pwd=right")
        assert (answer.status_code, answer.headers["x-stead-reason"]) == (429, "locked_out")
        assert answer.headers["retry-after"] == "900"
        assert await post(edge, b"pwd=right", "/x/../wp-login.php") == 429
        assert len(app.seen) == before
        assert (await edge.get("app.test", "/")).status_code == 200
    finally:
        app.handler = echo


async def post(edge: EdgeHarness, body: bytes, path: str = "/wp-login.php") -> int:
    said = (
        f"POST {path} HTTP/1.1\r\nHost: app.test\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return status_of(await edge.raw(said.encode() + body))
