"""Gives every site of the test database its place in the night."""

from stead.control.backups import scheduling
from tests.people import Person


async def schedule_sites(person: Person) -> None:
    """In many short transactions, as the worker does: other tests have left thousands of sites."""
    found = 1
    while found:
        async with person.transaction() as tx:
            found = await scheduling.add_sites(tx)
