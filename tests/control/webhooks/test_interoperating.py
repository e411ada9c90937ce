"""What we sign, others verify: the helpers of the documentation, the libraries of Standard Webhooks."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from stead.control.webhooks import signing
from tests.control.webhooks.verifying import block, documented

WEB = Path(__file__).parents[3] / "web"
BODY = '{"id":"evt_01","type":"deploy.completed","data":{"domain":"bücher.example"}}'.encode()
DELIVERY = "whd_01k9zy3v7d00r3m8w5x2t6b4qa"

Verify = Callable[[str, dict[str, str], bytes], bool]


def _python_helper(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return bool(documented().verify(secret, headers, body))


def _python_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def _node(program: str, secret: str, headers: dict[str, str], body: bytes) -> bool:
    node = shutil.which("node")
    assert node, "Node.js is among the tools a checkout needs"
    given = {"secret": secret, "headers": headers, "body": base64.b64encode(body).decode()}
    ended = subprocess.run(
        [node, "-e", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=WEB,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return bool(json.loads(ended.stdout))


_READ = """
const given = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const body = Buffer.from(given.body, "base64");
"""
_ASK_HELPER = """
console.log(JSON.stringify(verify(given.secret, given.headers, body)));
"""
_ASK_LIBRARY = """
const { Webhook } = require("standardwebhooks");
let fits = true;
try { new Webhook(given.secret).verify(body, given.headers); } catch { fits = false; }
console.log(JSON.stringify(fits));
"""


def _node_helper(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return _node(block("javascript") + _READ + _ASK_HELPER, secret, headers, body)


def _node_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return _node(_READ + _ASK_LIBRARY, secret, headers, body)


VERIFIERS: dict[str, Verify] = {
    "our Python": _python_helper,
    "standardwebhooks in Python": _python_library,
    "our Node": _node_helper,
    "standardwebhooks in Node": _node_library,
}


def _sign(second: int, *secrets: str) -> dict[str, str]:
    lines = signing.headers(DELIVERY, second, BODY, [signing.key_of(secret) for secret in secrets])
    pairs = [line.split(": ", 1) for line in lines.decode().strip().split("\r\n")]
    return {name.lower(): value for name, value in pairs}


@pytest.fixture
def second() -> int:
    return int(time.time())


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_delivery_verifies_and_nothing_else_does(verifier: str, second: int):
    verify, secret, other = VERIFIERS[verifier], signing.new_secret(), signing.new_secret()
    good = _sign(second, secret)
    assert verify(secret, good, BODY)
    assert verify(secret, _sign(second, other, secret), BODY), "the older of two, after a roll"
    assert verify(other, _sign(second, other, secret), BODY), "the newer of two"
    assert not verify(other, good, BODY), "another secret"
    assert not verify(secret, good, BODY + b" "), "another body"
    assert not verify(secret, _sign(second - 3600, secret), BODY), "too old"
    assert not verify(secret, _sign(second + 3600, secret), BODY), "too new"
    moved: dict[str, Any] = {
        **good,
        "api-delivery-id": DELIVERY[:-1] + "x",
        "webhook-id": DELIVERY[:-1] + "x",
    }
    assert not verify(secret, moved, BODY), "another delivery"


@pytest.mark.parametrize("verifier", ["our Python", "our Node"])
@pytest.mark.parametrize(
    "signature", ["", "t=", "t=1", "v1=", "t=x,v1=y", "t=1,v1=zz,v1", ",,,", "=,=", "t=1;v1=x"]
)
def test_a_signature_that_is_none_is_refused_without_an_error(verifier: str, signature: str):
    headers = {"api-delivery-id": DELIVERY, "api-signature": signature}
    assert VERIFIERS[verifier](signing.new_secret(), headers, BODY) is False
    assert VERIFIERS[verifier](signing.new_secret(), {}, BODY) is False


@pytest.mark.parametrize("language", ["php", "go"])
def test_the_other_helpers_are_there(language: str):
    """Executed where their language is installed; here they are only read."""
    assert "whsec_" in block(language)


@pytest.mark.skipif(shutil.which("php") is None, reason="there is no PHP here")
def test_the_php_helper_verifies(second: int, tmp_path: Path):
    secret = signing.new_secret()
    program = tmp_path / "verify.php"
    asked = (
        "$given = json_decode(stream_get_contents(STDIN), true);"
        'echo json_encode(stead_verify($given["secret"], $given["headers"], base64_decode($given["body"])));'
    )
    program.write_text(block("php") + asked)
    for body, fits in ((BODY, True), (BODY + b" ", False)):
        given = {"secret": secret, "headers": _sign(second, secret), "body": base64.b64encode(body).decode()}
        php = shutil.which("php") or "php"
        ended = subprocess.run(
            [php, str(program)], input=json.dumps(given), capture_output=True, text=True, check=True
        )
        assert json.loads(ended.stdout) is fits
