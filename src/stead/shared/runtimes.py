"""The runtimes of sites: what serves an environment's pages."""

from typing import Literal, get_args

Runtime = Literal["cms", "static", "wasm"]

RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)
