"""The files of a program beside the site. They are its own: the site may have a newer configuration than the
plan of a program that has waited."""

import dataclasses
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex

from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.plan import WordPressPlan

PREFIX = "program-"
"""The directories of programs begin with it."""


@asynccontextmanager
async def own_files(plan: WordPressPlan) -> AsyncIterator[WordPressPlan]:
    """The same plan with files of its own, which are removed afterwards."""
    own = dataclasses.replace(plan, part=f"{PREFIX}{token_hex(8)}")
    async with prepared(own):
        yield own


@asynccontextmanager
async def prepared(plan: WordPressPlan) -> AsyncIterator[None]:
    """`plan` must be one of its own, with a `part`."""
    try:
        await plan.prepare()
        yield
    finally:
        await run_in_thread(shutil.rmtree, plan.memory, True)
