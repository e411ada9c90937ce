"""Signatures verify with the documented functions and with the libraries of Standard Webhooks."""

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
from tests.control.webhooks.documented_verifiers import code_block, documented_verifier

WEB = Path(__file__).parents[3] / "web"
BODY = '{"id":"evt_01","type":"deploy.completed","data":{"domain":"bücher.example"}}'.encode()
DELIVERY = "whd_01k9zy3v7d00r3m8w5x2t6b4qa"

Verify = Callable[[str, dict[str, str], bytes], bool]


def _documented_python(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return bool(documented_verifier()(secret, headers, body))


def _python_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def _node(program: str, secret: str, headers: dict[str, str], body: bytes) -> bool:
    node = shutil.which("node")
    assert node, "Node.js is required"
    given = {"secret": secret, "headers": headers, "body": base64.b64encode(body).decode()}
    finished = subprocess.run(
        [node, "-e", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=WEB,
        timeout=30,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return bool(json.loads(finished.stdout))


_READ_INPUT = """
const given = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const body = Buffer.from(given.body, "base64");
"""
_RUN_DOCUMENTED = """
console.log(JSON.stringify(verify(given.secret, given.headers, body)));
"""
_RUN_LIBRARY = """
const { Webhook } = require("standardwebhooks");
let valid = true;
try { new Webhook(given.secret).verify(body, given.headers); } catch { valid = false; }
console.log(JSON.stringify(valid));
"""


def _documented_node(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return _node(code_block("javascript") + _READ_INPUT + _RUN_DOCUMENTED, secret, headers, body)


def _node_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return _node(_READ_INPUT + _RUN_LIBRARY, secret, headers, body)


VERIFIERS: dict[str, Verify] = {
    "documented Python": _documented_python,
    "standardwebhooks in Python": _python_library,
    "documented Node": _documented_node,
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
def test_a_valid_delivery_verifies_and_a_changed_one_does_not(verifier: str, second: int):
    verify, secret, other = VERIFIERS[verifier], signing.new_secret(), signing.new_secret()
    good = _sign(second, secret)
    assert verify(secret, good, BODY)
    assert verify(secret, _sign(second, other, secret), BODY), "the older of two secrets, after a roll"
    assert verify(other, _sign(second, other, secret), BODY), "the newer of two secrets"
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


@pytest.mark.parametrize("verifier", ["documented Python", "documented Node"])
@pytest.mark.parametrize(
    "signature", ["", "t=", "t=1", "v1=", "t=x,v1=y", "t=1,v1=zz,v1", ",,,", "=,=", "t=1;v1=x"]
)
def test_a_malformed_signature_is_refused_without_an_error(verifier: str, signature: str):
    headers = {"api-delivery-id": DELIVERY, "api-signature": signature}
    assert VERIFIERS[verifier](signing.new_secret(), headers, BODY) is False
    assert VERIFIERS[verifier](signing.new_secret(), {}, BODY) is False


@pytest.mark.parametrize("language", ["php", "go"])
def test_the_documentation_has_code_in_other_languages(language: str):
    """The code runs only where the language is installed."""
    assert "whsec_" in code_block(language)


@pytest.mark.skipif(shutil.which("php") is None, reason="PHP is not installed")
def test_the_documented_php_code_verifies(second: int, tmp_path: Path):
    secret = signing.new_secret()
    program = tmp_path / "verify.php"
    script = (
        "$given = json_decode(stream_get_contents(STDIN), true);"
        'echo json_encode(stead_verify($given["secret"], $given["headers"], base64_decode($given["body"])));'
    )
    program.write_text(code_block("php") + script)
    for body, valid in ((BODY, True), (BODY + b" ", False)):
        given = {"secret": secret, "headers": _sign(second, secret), "body": base64.b64encode(body).decode()}
        php = shutil.which("php") or "php"
        finished = subprocess.run(
            [php, str(program)], input=json.dumps(given), capture_output=True, text=True, check=True
        )
        assert json.loads(finished.stdout) is valid
