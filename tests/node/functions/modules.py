"""Functions as core modules in text form: they are compiled within milliseconds, and can do what no compiler
of a language would let them do."""

import json

from wasmtime import wat2wasm

_TEMPLATE = """
(module
  {imports}
  (import "stead" "call" (func $call (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") {pages})
  (global $top (mut i32) (i32.const 262144))
  (func $alloc (export "stead_alloc") (param $size i32) (result i32) (local $place i32)
    (local.set $place (global.get $top))
    (global.set $top (i32.and
      (i32.add (i32.add (global.get $top) (local.get $size)) (i32.const 15)) (i32.const -16)))
    {after_alloc}
    (local.get $place))
  {more}
  {data}
  (func $packed (param $place i32) (param $size i32) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $place)) (i64.const 32)) (i64.extend_i32_u (local.get $size))))
  (func (export "stead_handle") (param $request i32) (param $length i32) (result i64)
    (global.set $top (i32.const 262144))
    {handle}))
"""
_ANSWER, _QUESTION = 1024, 131072


def _text(content: str) -> str:
    return "".join(f"\\{byte:02x}" for byte in content.encode())


def module(
    handle: str,
    *,
    imports: str = "",
    more: str = "",
    data: str = "",
    pages: str = "32",
    after_alloc: str = "",
) -> bytes:
    values = {"handle": handle, "imports": imports, "more": more, "data": data, "after_alloc": after_alloc}
    return bytes(wat2wasm(_TEMPLATE.format(pages=pages, **values)))


def saying(content: str, before: str = "", **parts: str) -> bytes:
    """A function that answers with this text, after it has done something else."""
    size = len(content.encode())
    data = f'(data (i32.const {_ANSWER}) "{_text(content)}") {parts.pop("data", "")}'
    return module(f"{before} (call $packed (i32.const {_ANSWER}) (i32.const {size}))", data=data, **parts)


def answering(
    status: object = 200, headers: object = (), body: object = "hello", before: str = "", **parts: str
) -> bytes:
    return saying(json.dumps({"status": status, "headers": headers, "body": body}), before, **parts)


def asking(operation: str, argument: object) -> bytes:
    """A function that asks its host something, and answers with an empty response."""
    text = json.dumps(argument)
    data = (
        f'(data (i32.const {_QUESTION}) "{_text(operation)}")'
        f' (data (i32.const {_QUESTION + 1024}) "{_text(text)}")'
    )
    call = (
        f"(call $call (i32.const {_QUESTION}) (i32.const {len(operation)})"
        f" (i32.const {_QUESTION + 1024}) (i32.const {len(text.encode())}))"
    )
    return module(call, data=data)


def calling(operation: str, argument: object, times: int = 1) -> bytes:
    """A function that asks its host something, several times, and then answers."""
    text = json.dumps(argument)
    data = (
        f'(data (i32.const {_QUESTION}) "{_text(operation)}")'
        f' (data (i32.const {_QUESTION + 1024}) "{_text(text)}")'
    )
    call = (
        f"(global.set $top (i32.const 300000)) (drop (call $call (i32.const {_QUESTION})"
        f" (i32.const {len(operation)}) (i32.const {_QUESTION + 1024}) (i32.const {len(text.encode())})))"
    )
    loop = (
        f"(global.set $n (i32.const {times})) (loop $l {call}"
        " (global.set $n (i32.sub (global.get $n) (i32.const 1))) (br_if $l (global.get $n)))"
    )
    return answering(body="called", before=loop, data=data, more="(global $n (mut i32) (i32.const 0))")


ECHO = module("(call $packed (local.get $request) (local.get $length))")
"""Returns its request as the response: its headers and its body."""
LOOP = answering(before="(loop $l (br $l))")
MEMORY = answering(
    before="(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable"
)
STACK = answering(before="(call $deep)", more="(func $deep (call $deep))")
TRAP = answering(before="unreachable")
DIVISION = answering(before="(drop (i32.div_u (i32.const 1) (i32.const 0)))")
OUTSIDE = module("(call $packed (i32.const 0x7fffff00) (i32.const 4096))")
HUGE_LENGTH = module("(call $packed (i32.const 0) (i32.const -1))")
_POLL = "(func $poll (param i32 i32 i32 i32) (result i32))"
SLEEP = answering(
    imports=f'(import "wasi_snapshot_preview1" "poll_oneoff" {_POLL})',
    # A subscription to the monotonic clock, relative, of an hour: 0x34630b8a000 nanoseconds.
    data='(data (i32.const 65552) "\\01") (data (i32.const 65560) "\\00\\a0\\b8\\30\\46\\03\\00\\00")',
    before="(drop (call $poll (i32.const 65536) (i32.const 70000) (i32.const 1) (i32.const 80000)))",
)
BAD_ALLOC = answering(after_alloc="(local.set $place (i32.const 0x7fffffff))")
