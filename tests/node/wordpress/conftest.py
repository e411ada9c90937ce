from collections.abc import AsyncIterator

import pytest

from tests.node.wordpress.wordpress_node import Site, WordPressNode, start_wordpress_node


@pytest.fixture(scope="package")
async def node() -> AsyncIterator[WordPressNode]:
    async with start_wordpress_node() as made:
        yield made


@pytest.fixture
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)
