"""`stead fn dev`: functions run on this machine as they run on a node."""

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from wasmtime import wat2wasm

from stead.node.builds.function_compilers import COMPILERS, OUTPUT
from stead.node.images import recipes
from stead_cli import function_build
from stead_cli.failures import CliError
from stead_cli.function_compilers import PROGRAMS
from stead_cli.function_state import LocalState
from tests.clients.image_compilers import write_programs
from tests.clients.terminal import BOUND, Machine
from tests.patience import slowdown

SOURCE = """
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throw") throw new Error("on purpose");
    if (pathname === "/forever") for (;;) {}
    if (pathname === "/away") return fetch("http://203.0.113.1/");
    if (pathname === "/slow") return fetch(env.SLOW);
    console.log(`called \\u001b]0;owned\\u0007 ${pathname}`);
    const visits = await env.VISITS.increment("all");
    await env.STORE.put("last", pathname);
    const last = await env.STORE.get("last");
    const body = { visits, last, greeting: env.GREETING, secret: env.TOKEN, url: request.url };
    return Response.json(body);
  },
};
"""


@contextmanager
def serving(machine: Machine, *words: str) -> Iterator[tuple[str, Path]]:
    """The address of the function, and the file with what the program says."""
    with machine.running("fn", "dev", *words, "--port", "0") as (printed, said):
        address = printed.readline().strip()
        assert address, said.read_text()
        yield address, said


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the packages of Node.js are installed once."""
    return str(tmp_path_factory.mktemp("cache"))


def test_a_function_runs_as_on_a_node(tmp_path: Path, cache: str):
    machine = Machine(tmp_path, {"XDG_CACHE_HOME": cache})
    folder = machine.work / "hello"
    assert machine.stead("fn", "new", "hello").code == 0
    (folder / "function.js").write_text(SOURCE)
    (machine.work / "secrets.env").write_text("# not an argument, which others can read\nTOKEN='quiet'\n")
    nobody = socket.create_server(("127.0.0.1", 0))
    slow = f"127.0.0.1:{nobody.getsockname()[1]}"
    bindings = ("--kv", "STORE", "--coord", "VISITS", "--fetch", slow, "--var", "GREETING=hi")
    options = (*bindings, "--var", f"SLOW=http://{slow}/", "--env-file", "secrets.env", "--wall-ms", "500")
    with nobody, serving(machine, "hello", *options) as (address, said):
        with httpx.Client(base_url=address, timeout=BOUND * slowdown()) as client:
            first = client.get("/a").json()
            assert first == {
                "visits": 1,
                "last": "/a",
                "greeting": "hi",
                "secret": "quiet",
                "url": f"{address}a",
            }
            # Browsers open connections before they need them.
            place = ("127.0.0.1", httpx.URL(address).port or 0)
            with socket.create_connection(place, BOUND * slowdown()) as spare:
                assert client.get("/b").json()["visits"] == 2
                spare.sendall(b"GET /spare HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert spare.makefile("rb").readline().startswith(b"HTTP/1.1 200"), "the other one was first"
            thrown = client.get("/throw")
            assert (thrown.status_code, thrown.headers["x-stead-reason"]) == (500, "function_exception")
            assert "on purpose" in thrown.text
            endless = client.get("/forever")
            assert (endless.status_code, endless.headers["x-stead-reason"]) == (503, "function_time_limit")
            assert "203.0.113.1:80 is not listed" in client.get("/away").text
            assert client.get("/slow").status_code >= 500, "nobody answers there"
            assert client.get("/d").json()["last"] == "/d", "no late answer is taken for another one"
            elsewhere = client.get("/c", headers={"host": "attacker.example"})
            assert elsewhere.status_code == 403, "a page elsewhere cannot read what it answers"
            (folder / "function.js").write_text("export default { fetch: () => new Response('changed') };")
            assert client.get("/").text == "changed"
            (folder / "function.js").write_text("export default {")
            assert client.get("/").status_code == 503
            (folder / "function.js").write_text("export default { fetch: () => new Response('again') };")
            assert client.get("/").text == "again"
        told = said.read_text()
        assert "called \N{REPLACEMENT CHARACTER}]0;owned" in told, "a log does not control the terminal"
        assert re.search(r"^GET /a 200 [0-9.]+ ms$", told, re.MULTILINE)


@pytest.fixture(scope="module")
def compilers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0:
        pytest.skip("the compilers of the image need root")
    return write_programs(tmp_path_factory.mktemp("compilers"))


@pytest.mark.parametrize("language", ["c", "rust", "typescript", "zig"])
def test_a_new_function_of_a_language_runs(language: str, tmp_path: Path, compilers: Path, cache: str):
    """Go compiles its standard library first, which takes too long here: see the tests of its commands."""
    path = f"{compilers}:{os.environ['PATH']}"
    machine = Machine(tmp_path, {"PATH": path, "XDG_CACHE_HOME": cache})
    assert machine.stead("fn", "new", "hello", "--language", language).code == 0
    with serving(machine, "hello") as (address, said):
        answer = httpx.get(f"{address}there", timeout=BOUND * slowdown())
        assert (answer.status_code, answer.text[-6:]) == (200, "/there"), said.read_text()


WORDS = b'{"status":200,"body":"compiled already"}'
MODULE = f"""(module
  (memory (export "memory") 1)
  (data (i32.const 8) "{WORDS.decode().replace('"', chr(92) + '"')}")
  (func (export "stead_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "stead_handle") (param i32 i32) (result i64) (i64.const {8 << 32 | len(WORDS)})))
"""


def test_a_compiled_file_needs_no_compiler(tmp_path: Path):
    machine = Machine(tmp_path, {"PATH": str(tmp_path)})
    (machine.work / "function.wasm").write_bytes(wat2wasm(MODULE))
    with serving(machine) as (address, said):
        assert httpx.get(address, timeout=BOUND * slowdown()).text == "compiled already", said.read_text()


@pytest.mark.parametrize("language", sorted(COMPILERS))
def test_a_compiler_that_is_not_installed_is_named(language: str, tmp_path: Path):
    machine = Machine(tmp_path, {"PATH": str(tmp_path)})
    assert machine.stead("fn", "new", "hello", "--language", language).code == 0
    refused = machine.stead("fn", "dev", "hello", "--port", "0", "--json")
    error = refused.json["error"]
    assert (refused.code, error["code"]) == (1, "compiler.missing")
    assert f"The program {PROGRAMS[language]} is not installed" in error["message"]
    assert ".wasm" in error["fix"]


PARTS = {
    "c": ("usr/lib/wasm32-wasi", "clang has no C library for WebAssembly", "wasi-libc"),
    "rust": ("usr/lib/rustlib/wasm32-wasip1", "rustc has no standard library", "rustup target add"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="the compilers of the image need root")
@pytest.mark.parametrize("language", PARTS)
def test_what_is_missing_of_a_compiler_is_named(language: str, tmp_path: Path):
    part, named, told = PARTS[language]
    programs = write_programs(tmp_path / "compilers", without=part)
    machine = Machine(tmp_path, {"PATH": f"{programs}:{os.environ['PATH']}"})
    assert machine.stead("fn", "new", "hello", "--language", language).code == 0
    refused = machine.stead("fn", "dev", "hello", "--port", "0", "--json")
    error = refused.json["error"]
    assert (refused.code, error["code"]) == (1, "compiler.missing"), refused.err
    assert named in error["message"]
    assert told in error["fix"]


@pytest.mark.parametrize("language", sorted(COMPILERS))
def test_it_is_compiled_as_on_a_node(language: str, tmp_path: Path):
    place = {
        str(function_build.TOOLCHAIN): recipes.FUNCTION_TOOLCHAIN,
        str(tmp_path / "function.wasm"): OUTPUT,
        str(tmp_path): os.path.dirname(OUTPUT),  # noqa: PTH120 - of the node
    }
    ours = function_build.commands(language, ["/work/src/f"], function_build.TOOLCHAIN, tmp_path)
    text = json.dumps(ours)
    for here, there in place.items():
        text = text.replace(here, there)
    text = text.replace("/work/home/overlay.json", f"{recipes.FUNCTION_TOOLCHAIN}/go/overlay.json")
    theirs = json.dumps(COMPILERS[language].commands(["/work/src/f"])).replace(f"{recipes.ZIG}/zig", "zig")  # type: ignore[index]
    assert json.loads(text) == json.loads(theirs)


def test_go_finds_the_files_of_the_platform(tmp_path: Path):
    function_build.commands("go", ["/work/src/f"], Path(recipes.FUNCTION_TOOLCHAIN), tmp_path)
    theirs = function_build.TOOLCHAIN / "go" / "overlay.json"
    assert json.loads((tmp_path / "overlay.json").read_text()) == json.loads(theirs.read_text())


def test_the_compilers_are_those_of_a_node():
    locked = json.loads((function_build.PACKAGES / "package-lock.json").read_text())["packages"]
    for packages in recipes._FUNCTION_BINARIES.values():
        for package in (recipes._ESBUILD, recipes._QUICKJS, *packages):
            found = locked[f"node_modules/{package.name}"]
            assert (found["version"], found["integrity"]) == (package.version, package.integrity)


def test_an_unknown_language_is_wrong_usage(tmp_path: Path):
    machine = Machine(tmp_path)
    (machine.work / "function.py").write_text("")
    assert machine.stead("fn", "dev").code == 2
    assert machine.stead("fn", "dev", "function.py", "--var", "NAME").code == 2


def test_a_file_that_vanishes_does_not_end_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    module, other = tmp_path / "function.wasm", tmp_path / "other.wasm"
    with pytest.raises(CliError, match="cannot be read"):
        function_build.build(module)
    module.touch()
    other.touch()
    walk = os.walk

    def walk_and_remove(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for found in walk(folder):
            other.unlink()
            yield found

    monkeypatch.setattr(os, "walk", walk_and_remove)
    assert [name for name, _ in function_build.stamp(module)] == [str(module)]


def test_the_folder_of_a_function_does_not_choose_its_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Compilers of Rust look for `rust-toolchain.toml` where they are started."""
    programs, cache, theirs = tmp_path / "bin", tmp_path / "cache", tmp_path / "cloned"
    for each in (programs, theirs):
        each.mkdir()
    (theirs / "function.rs").touch()
    compiler = programs / "rustc"
    compiler.write_text('#!/bin/sh\nfor each; do case "$each" in *.wasm) pwd > "$each";; esac; done\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert function_build.build(theirs / "function.rs").decode().strip() == str(cache / "stead")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_state_is_like_that_of_the_platform():
    clock = Clock()
    state = LocalState({"K": "kv", "C": "coord"}, clock=clock)

    def ask(op: str, **arg: object) -> object:
        answer = state.answer({"op": op, "arg": arg})
        return answer["ok"] if "ok" in answer else answer["error"]["code"]

    assert ask("kv.get", binding="K", key="a") is None
    first = ask("kv.put", binding="K", key="a", value="1", ttl=10)
    assert isinstance(first, dict)
    assert ask("kv.get", binding="K", key="a") == {"value": "1", **first}
    assert ask("kv.put", binding="K", key="a", value="2", revision=0) == "state.conflict"
    clock.now += 11
    assert ask("kv.get", binding="K", key="a") is None
    assert isinstance(ask("kv.put", binding="K", key="a", value="2", revision=0), dict)
    for name in "bcd":
        ask("kv.put", binding="K", key=name, value_base64="AAE=")
    assert ask("kv.list", binding="K", limit=3) == {"keys": ["a", "b", "c"], "cursor": "c"}
    assert ask("kv.list", binding="K", limit=3, cursor="c") == {"keys": ["d"], "cursor": None}
    assert ask("kv.delete", binding="K", key="d") is True
    assert ask("kv.delete", binding="K", key="d") is False
    assert ask("kv.put", binding="K", key="", value="") == "state.key_invalid"
    assert ask("kv.put", binding="K", key="x", value="x" * (256 << 10)) == "state.value_too_large"
    assert ask("kv.get", binding="C", key="a") == "binding.unknown"
    lock = ask("coord.lock", binding="C", name="l", ttl=5)
    assert isinstance(lock, dict)
    assert ask("coord.lock", binding="C", name="l") is None
    assert ask("coord.unlock", binding="C", name="l", token=lock["token"] + 1) is False
    assert ask("coord.unlock", binding="C", name="l", token=lock["token"]) is True
    assert ask("coord.increment", binding="C", name="n", by=3) == 3
    assert ask("coord.increment", binding="C", name="n", by=1 << 53) == "state.overflow"
    assert ask("coord.get", binding="C", name="n") == 3
    assert ask("coord.get", binding="C") == "request.invalid"
    assert ask("service.call", binding="S") == "service.unavailable"
