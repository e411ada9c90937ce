"""An API process, a proxy that damages what passes, and clients."""

from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.settings import Settings
from stead.dev.ports import reserve_ports
from tests.clients.callers import FLAVORS, Caller
from tests.clients.fault_proxy import FaultProxy, fault_proxy
from tests.clients.web_page import page_server
from tests.contract.api_process import serving
from tests.people import Person


@pytest.fixture(scope="package")
def page_origin() -> Iterator[str]:
    """The origin of the web page that may call the API."""
    with page_server() as origin:
        yield origin


@pytest.fixture(scope="package")
def api(
    settings: Settings, plane: ControlPlane, page_origin: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    port, metrics_port = reserve_ports(2)
    own = msgspec.structs.replace(
        settings, api_port=port, metrics_port=metrics_port, cors_origins=page_origin
    )
    with serving(own, tmp_path_factory.mktemp("api") / "log", "tests.contract.fuzzed_api") as address:
        yield address


@pytest.fixture
async def proxy(api: str) -> AsyncIterator[FaultProxy]:
    async with fault_proxy(api) as it:
        yield it


@pytest.fixture(params=FLAVORS)
def flavor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def direct(flavor: str, api: str, person: Person) -> AsyncIterator[Caller]:
    """A client that talks to the API."""
    caller = Caller(flavor, await person.secret(), base_url=api)
    yield caller
    caller.client.close()


@pytest.fixture
async def proxied(flavor: str, proxy: FaultProxy, person: Person) -> AsyncIterator[Caller]:
    """A client that talks to the proxy."""
    caller = Caller(flavor, await person.secret(), base_url=proxy.address, timeout=20)
    yield caller
    caller.client.close()
