"""Signatures verify with the documented functions and with the libraries of Standard Webhooks.

`tests/docs/test_go_example.py` does the same with the documented Go code, which takes long to compile.
"""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.control.webhooks.documented_verifiers import code_block, documented_verifier
from tests.control.webhooks.verification import (
    MALFORMED_SIGNATURES,
    Verify,
    check_malformed_signature,
    check_verifier,
)

WEB = Path(__file__).parents[3] / "web"
RUN_SECONDS = 30


def _documented_python(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return bool(documented_verifier()(secret, headers, body))


def _python_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def _run(interpreter: str, *arguments: str, secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Run a program that reads a delivery from its input and writes `true` or `false`."""
    path = shutil.which(interpreter)
    assert path, f"{interpreter} is required"
    delivery = {"secret": secret, "headers": headers, "body": base64.b64encode(body).decode()}
    finished = subprocess.run(
        [path, *arguments],
        input=json.dumps(delivery),
        capture_output=True,
        text=True,
        cwd=WEB,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    valid = json.loads(finished.stdout)
    assert isinstance(valid, bool)
    return valid


_READ_DELIVERY = """
const delivery = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const body = Buffer.from(delivery.body, "base64");
"""
_RUN_DOCUMENTED = """
console.log(JSON.stringify(verify(delivery.secret, delivery.headers, body)));
"""
_RUN_LIBRARY = """
const { Webhook } = require("standardwebhooks");
let valid = true;
try { new Webhook(delivery.secret).verify(body, delivery.headers); } catch { valid = false; }
console.log(JSON.stringify(valid));
"""
_RUN_PHP = """
$delivery = json_decode(stream_get_contents(STDIN), true);
$body = base64_decode($delivery["body"]);
echo json_encode(stead_verify($delivery["secret"], $delivery["headers"], $body));
"""


def _documented_node(secret: str, headers: dict[str, str], body: bytes) -> bool:
    program = code_block("javascript") + _READ_DELIVERY + _RUN_DOCUMENTED
    return _run("node", "-e", program, secret=secret, headers=headers, body=body)


def _node_library(secret: str, headers: dict[str, str], body: bytes) -> bool:
    return _run("node", "-e", _READ_DELIVERY + _RUN_LIBRARY, secret=secret, headers=headers, body=body)


def _documented_php(secret: str, headers: dict[str, str], body: bytes) -> bool:
    program = code_block("php").removeprefix("<?php") + _RUN_PHP
    return _run("php", "-r", program, secret=secret, headers=headers, body=body)


DOCUMENTED: dict[str, Verify] = {
    "documented Python": _documented_python,
    "documented Node": _documented_node,
    "documented PHP": _documented_php,
}
LIBRARIES: dict[str, Verify] = {
    "standardwebhooks in Python": _python_library,
    "standardwebhooks in Node": _node_library,
}


@pytest.mark.parametrize("verifier", [*DOCUMENTED, *LIBRARIES])
def test_a_valid_delivery_verifies_and_a_changed_one_does_not(verifier: str):
    check_verifier((DOCUMENTED | LIBRARIES)[verifier])


@pytest.mark.parametrize("verifier", DOCUMENTED)
@pytest.mark.parametrize("signature", MALFORMED_SIGNATURES)
def test_a_malformed_signature_is_refused_without_an_error(verifier: str, signature: str):
    check_malformed_signature(DOCUMENTED[verifier], signature)
