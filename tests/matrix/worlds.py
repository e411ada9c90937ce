"""One world a role to look at and to be refused in; a fresh one for whatever may change it."""

from stead.control.engines.postgres import Database
from stead.control.http.operations import Operation
from stead.shared.roles import Role
from tests import teams
from tests.matrix.world import World, make_world, make_worlds

WITHOUT_SITES = {"teams.delete"}
"""What is refused, whoever asks, while the team has sites."""
WITH_ANOTHER_OWNER = {"account.close"}
"""What is refused, whoever asks, to the last owner of a team."""


MADE_AT_ONCE = 16


class Worlds:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._shared: dict[Role, World] = {}
        self._fresh: dict[Role, list[World]] = {}

    async def shared(self, role: Role) -> World:
        if role not in self._shared:
            self._shared[role] = await make_world(self._database, role)
        return self._shared[role]

    async def fresh(self, role: Role, operation: Operation) -> World:
        """A world in which nothing but a permission stands in the operation's way."""
        if not self._fresh.get(role):
            self._fresh[role] = await make_worlds(self._database, role, MADE_AT_ONCE)
        world = self._fresh[role].pop()
        if operation.id in WITHOUT_SITES:
            async with self._database.transaction() as tx:
                await tx.run(
                    "update sites set team_id = null, project_id = null, account_id = $2 where team_id = $1",
                    world.team,
                    world.founder.id,
                )
        if operation.id in WITH_ANOTHER_OWNER:
            async with self._database.transaction() as tx:
                owned = "select team_id from team_members where account_id = $1 and role = 'owner'"
                for team in await tx.all(str, owned, world.stranger.id):
                    await teams.insert_member(tx, team, world.founder.id, Role.OWNER)
        return world
