"""The Go code that the documentation gives to customers compiles and verifies deliveries."""

import base64
import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.control.webhooks.documented_verifiers import code_block
from tests.control.webhooks.verification import (
    MALFORMED_SIGNATURES,
    Verify,
    check_malformed_signature,
    check_verifier,
)
from tests.patience import slowdown

pytestmark = pytest.mark.timeout(900)
GO = Path(sysconfig.get_path("scripts")) / "go"
BUILD_SECONDS = 90
"""The first build on a machine compiles the standard library, 40 s of CPU time; Go keeps the result."""
RUN_SECONDS = 30
MODULE = """module example.com/receiver

go 1.21
"""
PROGRAM = """package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"

	"example.com/receiver/stead"
)

type delivery struct {
	Secret  string
	Headers map[string]string
	Body    []byte
}

func main() {
	var given delivery
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	headers := http.Header{}
	for name, value := range given.Headers {
		headers.Set(name, value)
	}
	valid := stead.Verify(given.Secret, headers, given.Body, 5*time.Minute)
	if err := json.NewEncoder(os.Stdout).Encode(valid); err != nil {
		panic(err)
	}
}
"""


def _run(command: list[str], *, directory: Path, given: str = "", seconds: float = RUN_SECONDS) -> str:
    # No toolchain or module is ever downloaded, and no C compiler is needed.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0"}
    finished = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment,
        timeout=seconds * slowdown(),
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def verify(tmp_path_factory: pytest.TempPathFactory) -> Verify:
    directory = tmp_path_factory.mktemp("receiver")
    (directory / "go.mod").write_text(MODULE)
    (directory / "main.go").write_text(PROGRAM)
    (directory / "stead").mkdir()
    (directory / "stead" / "verify.go").write_text(code_block("go"))
    _run([str(GO), "build", "-o", "receiver", "."], directory=directory, seconds=BUILD_SECONDS)

    def run_program(secret: str, headers: dict[str, str], body: bytes) -> bool:
        given = {"Secret": secret, "Headers": headers, "Body": base64.b64encode(body).decode()}
        valid = json.loads(_run([str(directory / "receiver")], directory=directory, given=json.dumps(given)))
        assert isinstance(valid, bool)
        return valid

    return run_program


def test_a_valid_delivery_verifies_and_a_changed_one_does_not(verify: Verify):
    check_verifier(verify)


@pytest.mark.parametrize("signature", MALFORMED_SIGNATURES)
def test_a_malformed_signature_is_refused_without_an_error(verify: Verify, signature: str):
    check_malformed_signature(verify, signature)
