from collections.abc import AsyncIterator

import pytest

from tests.node.ssh.gateway_node import GatewayNode, start_gateway_node


@pytest.fixture(scope="package")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayNode]:
    async with start_gateway_node(tmp_path_factory.mktemp("ssh")) as made:
        yield made
