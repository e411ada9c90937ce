# Generated from `src/stead/node/functions/sandbox/guest.py` by `make generate`.
"""WebAssembly: compiles functions, and runs them within their limits.

A function is a component of the world in `function.wit`, or a core module with the same two functions and
memory instead of strings (`docs/functions.md`). Both receive and return JSON as text.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from wasmtime import (
    Config,
    Engine,
    Func,
    FuncType,
    Linker,
    Memory,
    Module,
    Store,
    Trap,
    ValType,
    WasiConfig,
    WasmtimeError,
)
from wasmtime.component import Component
from wasmtime.component import Linker as ComponentLinker

from .direct_calls import Deadline, TextCall
from .guest_kinds import WEBASSEMBLY, is_component
from .ticker import ticks

HOST_INTERFACE = "stead:function/host@0.1.0"
STACK_BYTES = 1 << 20
MAX_OPERATION, MAX_ARGUMENT_BYTES = 1024, 64 << 20

HostCall = Callable[[str, str], str]


class GuestFailed(Exception):
    """`reason` is for the owner of the function; `detail` may quote the function itself."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail[:2000]


class Guest(Protocol):
    def set_deadline(self, seconds: float) -> None: ...

    def call(self, request: bytes) -> bytes:
        """The answer need not be UTF-8. Raises GuestFailed."""
        ...

    def close(self) -> None: ...


def new_engine() -> Engine:
    config = Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK_BYTES
    # A deployment must not take all cores from those who answer visitors.
    config.parallel_compilation = False
    return Engine(config)


def compile_function(engine: Engine, source: bytes) -> bytes:
    """Raises GuestFailed."""
    if not source.startswith(WEBASSEMBLY):
        # The library would read it as the text form.
        raise GuestFailed("function_invalid", "it is not WebAssembly")
    try:
        if is_component(source):
            return bytes(Component(engine, source).serialize())
        return bytes(Module(engine, source).serialize())
    except WasmtimeError as error:
        raise GuestFailed("function_invalid", str(error)) from None


class Program:
    """A compiled function, from which instances are made."""

    def __init__(self, engine: Engine, compiled: str, memory_bytes: int, *, component: bool) -> None:
        """`compiled` is the path of what `compile_function` returned. Processes of the same function share
        the memory of the file."""
        self._engine, self._memory_bytes = engine, memory_bytes
        self._component = Component.deserialize_file(engine, compiled) if component else None
        self._module = None if component else Module.deserialize_file(engine, compiled)

    def start(self, host: HostCall, seconds: float) -> Guest:
        """A fresh instance. Raises GuestFailed."""
        store = Store(self._engine)
        # The numbers are those of a component of JavaScript, with room.
        store.set_limits(
            memory_size=self._memory_bytes, table_elements=200_000, instances=64, tables=64, memories=8
        )
        store.set_wasi(WasiConfig())
        store.set_epoch_deadline(ticks(seconds))
        try:
            if self._component is not None:
                return ComponentGuest(self._engine, store, self._component, host)
            assert self._module is not None  # noqa: S101
            return ModuleGuest(self._engine, store, self._module, host)
        except (WasmtimeError, Trap) as error:
            store.close()
            raise explain(error) from None


def explain(error: Exception) -> GuestFailed:
    text = str(error)
    if "interrupt" in text:
        return GuestFailed("function_time_limit")
    if "call stack exhausted" in text:
        return GuestFailed("function_stack_limit")
    if "memory" in text and "limit" in text:
        return GuestFailed("function_memory_limit", text)
    return GuestFailed("function_trap", text)


class ComponentGuest:
    def __init__(self, engine: Engine, store: Store, component: Component, host: HostCall) -> None:
        self._store, self.set_deadline = store, Deadline(store)
        linker = ComponentLinker(engine)
        linker.add_wasip2()
        with linker.root() as root, root.add_instance(HOST_INTERFACE) as interface:
            interface.add_func("call", lambda _, op, arg: host(op, arg))
        instance = linker.instantiate(store, component)
        handle = instance.get_func(store, "handle")
        if handle is None:
            raise WasmtimeError("the component does not export the function handle")
        self._handle = TextCall(store, handle)

    def call(self, request: bytes) -> bytes:
        try:
            return self._handle(request)
        except (WasmtimeError, Trap) as error:
            raise explain(error) from None

    def close(self) -> None:
        self._store.close()


class ModuleGuest:
    """A core module: `stead_alloc` reserves memory, `stead_handle` returns where its answer is."""

    def __init__(self, engine: Engine, store: Store, module: Module, host: HostCall) -> None:
        self._store, self.set_deadline, self._host = store, Deadline(store), host
        linker = Linker(engine)
        linker.define_wasi()
        number = ValType.i32()
        kind = FuncType([number, number, number, number], [ValType.i64()])
        linker.define(store, "stead", "call", Func(store, kind, self._call_host))
        exports = linker.instantiate(store, module).exports(store)
        memory = exports.get("memory")
        if not isinstance(memory, Memory):
            raise WasmtimeError("the module does not export memory")
        self._memory = memory
        self._allocate = _function(exports, "stead_alloc")
        self._handle = _function(exports, "stead_handle")
        begin = exports.get("_initialize")
        if isinstance(begin, Func):
            begin(store)

    def call(self, request: bytes) -> bytes:
        try:
            place, length = self._write(request)
            packed = self._handle(self._store, place, length) & 0xFFFFFFFFFFFFFFFF
            return self._read(packed >> 32, packed & 0xFFFFFFFF)
        except (WasmtimeError, Trap) as error:
            raise explain(error) from None

    def close(self) -> None:
        self._store.close()

    def _call_host(self, op: int, op_length: int, arg: int, arg_length: int) -> int:
        if op_length & 0xFFFFFFFF > MAX_OPERATION or arg_length & 0xFFFFFFFF > MAX_ARGUMENT_BYTES:
            raise WasmtimeError("the argument of a call is too large")
        answer = self._host(self._text(op, op_length), self._text(arg, arg_length))
        place, length = self._write(answer.encode())
        return place << 32 | length

    def _write(self, content: bytes) -> tuple[int, int]:
        place = self._allocate(self._store, len(content)) & 0xFFFFFFFF
        if place + len(content) > self._memory.data_len(self._store):
            raise WasmtimeError("stead_alloc returned a place outside of the memory")
        self._memory.write(self._store, content, place)
        return place, len(content)

    def _text(self, place: int, length: int) -> str:
        return self._read(place & 0xFFFFFFFF, length & 0xFFFFFFFF).decode("utf-8", "replace")

    def _read(self, place: int, length: int) -> bytes:
        if place + length > self._memory.data_len(self._store):
            raise WasmtimeError("the text is outside of the memory")
        return bytes(self._memory.read(self._store, place, place + length))


def _function(exports: Mapping[str, Any], name: str) -> Func:
    found = exports.get(name)
    if not isinstance(found, Func):
        raise WasmtimeError(f"the module does not export the function {name}")
    return found
