"""Runs the edge's Lua modules without nginx."""

from typing import Any

from lupa.luajit21 import LuaRuntime

from stead.edge.settings import LUA


def runtime() -> LuaRuntime:
    made = LuaRuntime(encoding=None, unpack_returned_tuples=True)
    made.execute(f'package.path = "{LUA}/?.lua;" .. package.path'.encode())
    return made


def module(made: LuaRuntime, name: str) -> Any:
    return made.eval(f'(require "stead.{name}")'.encode())
