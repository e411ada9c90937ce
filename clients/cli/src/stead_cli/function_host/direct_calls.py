# Generated from `src/stead/node/functions/sandbox/direct_calls.py` by `make generate`.
"""The two calls of the WebAssembly library that every request needs, without its conversions.

The library converts arguments and results by their types, which takes a third of the time of a short call.
Here a text is passed as it is, and the result copied once.
"""

from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    addressof,
    c_char_p,
    c_size_t,
    c_uint64,
    c_void_p,
    cast,
    string_at,
)
from typing import Any

from wasmtime import Store, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Func
from wasmtime.component import _types as types
from wasmtime.component._enter import maybe_raise_last_exn

from .ticker import ticks

_call = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)(
    ("wasmtime_component_func_call", ffi.dll)
)
# These are over at once, so other threads need not run meanwhile.
_delete = PYFUNCTYPE(None, c_void_p)(("wasm_byte_vec_delete", ffi.dll))
_set_deadline = PYFUNCTYPE(None, c_void_p, c_uint64)(("wasmtime_context_set_epoch_deadline", ffi.dll))


class _Argument(Structure):
    _fields_ = (("size", c_size_t), ("data", c_char_p))


class _Result(Structure):
    _fields_ = (("size", c_size_t), ("data", c_void_p))


class TextCall:
    """The bytes that are passed must be UTF-8, and so are those that are returned."""

    def __init__(self, store: Store, function: Func) -> None:
        """Raises WasmtimeError if the function is another one."""
        found = function.type(store)
        if [type(kind) for _, kind in found.params] != [types.String] or type(
            found.result
        ) is not types.String:
            raise WasmtimeError("the function does not take and return one text")
        self._store, self._function = store, function
        given, returned = ffi.wasmtime_component_val_t(), ffi.wasmtime_component_val_t()
        given.kind = ffi.WASMTIME_COMPONENT_STRING
        place = ffi.wasmtime_component_val_t.of.offset
        self._given = _Argument.from_buffer(given, place)
        self._returned = _Result.from_buffer(returned, place)
        self._places = (
            *(_address(function._func), _context(store)),  # noqa: SLF001 - of the library
            *(_address(given), 1, _address(returned), 1),
        )
        self._text = _address(self._returned)

    def __call__(self, content: bytes) -> bytes:
        """Raises WasmtimeError, and what a function of the host has raised meanwhile."""
        given, returned = self._given, self._returned
        given.size, given.data = len(content), content
        error = _call(*self._places)
        if error:
            failed = WasmtimeError._from_ptr(cast(error, POINTER(ffi.wasmtime_error_t)))  # noqa: SLF001
            maybe_raise_last_exn()
            raise failed
        answer = string_at(returned.data, returned.size)
        _delete(self._text)
        return answer


class Deadline:
    """Ends a store after a time."""

    def __init__(self, store: Store) -> None:
        self._context = _context(store)

    def __call__(self, seconds: float) -> None:
        _set_deadline(self._context, ticks(seconds))


def _context(store: Store) -> c_void_p:
    return cast(store._context(), c_void_p)  # noqa: SLF001 - of the library


def _address(structure: Any) -> c_void_p:
    return c_void_p(addressof(structure))
