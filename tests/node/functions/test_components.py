"""Components are called without the conversions of the library: what passes, and what fails."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import wasmtime

from stead.node.functions.sandbox.guest import (
    GuestFailed,
    HostCall,
    Program,
    compile_function,
    new_engine,
)
from stead.node.functions.sandbox.host_calls import HostUnavailable

STRINGS = "(memory $memory) (realloc $realloc)"
HOST_TYPE = '(func (param "operation" string) (param "argument" string) (result string))'
ECHO = """
  (if (i32.eq (i32.load8_u (local.get $place)) (i32.const 33)) (then unreachable))
  (if (i32.eq (i32.load8_u (local.get $place)) (i32.const 63)) (then (loop $again (br $again))))
  (if (i32.eq (i32.load8_u (local.get $place)) (i32.const 64))
    (then (call $call (local.get $place) (i32.const 1) (local.get $place) (local.get $size) (i32.const 0))
      (return (i32.const 0))))
  (i32.store (i32.const 0) (local.get $place))
  (i32.store (i32.const 4) (local.get $size))
  (i32.const 0)"""
"""Returns its text. A text that begins with ! traps, one with ? never ends, and one with @ is passed to the
host, whose answer is returned."""


def component(body: str = ECHO, kind: str = '(param "request" string) (result string)') -> bytes:
    text = f"""(component
      (import "stead:function/host@0.1.0" (instance $host (export "call" {HOST_TYPE})))
      (core module $Shared
        (memory (export "memory") 40)
        (global $next (mut i32) (i32.const 1024))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
          (global.get $next)
          (global.set $next (i32.add (global.get $next) (local.get 3)))
          (if (i32.gt_u (global.get $next) (i32.const 2000000)) (then (global.set $next (i32.const 1024))))))
      (core instance $shared (instantiate $Shared))
      (alias core export $shared "memory" (core memory $memory))
      (alias core export $shared "realloc" (core func $realloc))
      (core func $call (canon lower (func $host "call") {STRINGS}))
      (core module $Main
        (import "shared" "memory" (memory 1))
        (import "shared" "call" (func $call (param i32 i32 i32 i32 i32)))
        (func (export "handle") (param $place i32) (param $size i32) (result i32) {body}))
      (core instance $main (instantiate $Main (with "shared" (instance
        (export "memory" (memory $memory)) (export "call" (func $call))))))
      (func (export "handle") {kind} (canon lift (core func $main "handle") {STRINGS})))"""
    return bytes(wasmtime.wat2wasm(text))


class Started:
    """An instance, and the clock that ends it."""

    def __init__(self, path: Path, content: bytes, host: HostCall = lambda op, arg: f"{op}:{arg}") -> None:
        self.engine = new_engine()
        path.write_bytes(compile_function(self.engine, content))
        self.guest = Program(self.engine, str(path), 64 << 20, component=True).start(host, 60)
        self.guest.set_deadline(600)
        self.call = self.guest.call


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Started]:
    return partial(Started, tmp_path / "compiled")


def test_texts_pass_unchanged(start: Callable[..., Started]) -> None:
    guest = start(component())
    for text in ("", "a", "grün", "a\0b", "x" * 1_000_000, "🙂" * 1000):
        assert guest.call(text.encode()) == text.encode()


def test_the_host_answers_a_component(start: Callable[..., Started]) -> None:
    assert start(component()).call("@grün".encode()) == "@:@grün".encode()


def test_a_trap_is_explained(start: Callable[..., Started]) -> None:
    with pytest.raises(GuestFailed) as failed:
        start(component()).call(b"!")
    assert failed.value.reason == "function_trap"
    assert "unreachable" in failed.value.detail


def test_a_component_ends_with_its_time(start: Callable[..., Started]) -> None:
    started = start(component())
    started.guest.set_deadline(0)
    for _ in range(2):
        started.engine.increment_epoch()
    with pytest.raises(GuestFailed) as failed:
        started.call(b"?")
    assert failed.value.reason == "function_time_limit"


def test_what_the_host_raises_reaches_the_caller(start: Callable[..., Started]) -> None:
    def refuse(_op: str, _arg: str) -> str:
        raise HostUnavailable

    with pytest.raises(HostUnavailable):
        start(component(), refuse).call(b"@")


def test_a_component_with_another_interface_is_refused(start: Callable[..., Started]) -> None:
    kind = '(param "request" (list u8)) (result string)'
    with pytest.raises(GuestFailed) as failed:
        start(component(kind=kind))
    assert "one text" in failed.value.detail
