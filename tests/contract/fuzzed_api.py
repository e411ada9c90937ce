"""`steadctl api` with cheap password hashes: hundreds of generated passwords would take most of the time.

Questions to sites are answered in a thread of this process: whoever sends the requests is busy with them.
"""

import asyncio
import threading

from argon2 import PasswordHasher

from stead import steadctl
from stead.control.accounts import passwords
from tests.answering_node import answering_node

passwords._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


async def _answer() -> None:
    async with answering_node():
        await asyncio.Event().wait()


if __name__ == "__main__":
    threading.Thread(target=asyncio.run, args=(_answer(),), daemon=True).start()
    steadctl.main()
