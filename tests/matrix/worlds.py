"""One world a role to look at and to be refused in; a fresh one for whatever may change it."""

from stead.control.engines.postgres import Database
from stead.control.http.operations import Operation
from stead.shared.roles import Role
from tests.matrix.world import World, make_world

WITHOUT_SITES = {"teams.delete"}
"""What is refused, whoever asks, while the team has sites."""


class Worlds:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._shared: dict[Role, World] = {}

    async def shared(self, role: Role) -> World:
        if role not in self._shared:
            self._shared[role] = await make_world(self._database, role)
        return self._shared[role]

    async def fresh(self, role: Role, operation: Operation) -> World:
        """A world in which nothing but a permission stands in the operation's way."""
        world = await make_world(self._database, role)
        if operation.id in WITHOUT_SITES:
            async with self._database.transaction() as tx:
                await tx.run(
                    "update sites set team_id = null, project_id = null, account_id = $2 where team_id = $1",
                    world.team,
                    world.founder.id,
                )
        return world
