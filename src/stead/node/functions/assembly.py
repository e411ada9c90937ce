"""Puts the driver of functions together, if the node can run them."""

import os
import shutil

from stead.node.disk_space import DiskSpace
from stead.node.drivers.releases import Releases
from stead.node.functions import places
from stead.node.functions.container import has_wasmtime
from stead.node.functions.driver import FunctionsDriver, FunctionTable, prepare_directories
from stead.node.functions.spec import FunctionSecrets, FunctionSpec
from stead.node.hosting.desired_state import DesiredState
from stead.node.settings import Settings


def why_unavailable(settings: Settings) -> str:
    """Empty when functions can run."""
    if os.geteuid() != 0:
        return "only root can start containers"
    if shutil.which("runc") is None:
        return "runc is not installed"
    if settings.private_key is None:
        return "STEAD_NODE_KEY is not set"
    return "" if has_wasmtime() else "the package wasmtime is not installed"


def functions_driver(settings: Settings, releases: Releases, space: DiskSpace) -> FunctionsDriver:
    key = settings.private_key
    assert key is not None  # noqa: S101
    prepare_directories(settings.data)
    table: FunctionTable = DesiredState(places.state_file(settings.data), FunctionSpec, FunctionSecrets, key)
    return FunctionsDriver(settings.data, table, releases, space)
