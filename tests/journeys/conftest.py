"""One stack for all journeys."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from stead.dev.running_stack import RunningStack
from stead.node.images.image_store import ImageStore
from tests.building_stack import BuildingStack, building_stack
from tests.git_server import GitServer
from tests.journeys.customer import Customer
from tests.journeys.managed_site import ManagedSite, create_managed_site
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import WordPressSite, create_wordpress_site
from tests.preloaded.processes import preloaded_programs


@pytest.fixture(scope="package")
async def building() -> AsyncIterator[BuildingStack]:
    # The agent looks for the image when it starts.
    if os.geteuid() == 0:
        await asyncio.to_thread(ImageStore().ensure, "functions")
    with preloaded_programs():
        async with building_stack() as started:
            yield started


@pytest.fixture(scope="package")
def git_server(building: BuildingStack) -> GitServer:
    return building.git_server


@pytest.fixture(scope="package")
def stack(building: BuildingStack) -> RunningStack:
    return building.stack


@pytest.fixture(scope="package")
async def customer(stack: RunningStack) -> AsyncIterator[Customer]:
    it = Customer(stack)
    async with it.api:
        yield it


@pytest.fixture(scope="package")
async def visitor(stack: RunningStack) -> Visitor:
    return await Visitor.of(stack)


@pytest.fixture(scope="package")
async def wordpress_site(customer: Customer) -> WordPressSite:
    return await create_wordpress_site(customer)


@pytest.fixture(scope="package")
async def managed_site(customer: Customer, git_server: GitServer) -> ManagedSite:
    return await create_managed_site(customer, git_server)
