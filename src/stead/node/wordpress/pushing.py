"""What happens before and during a push, besides making the dataset that production gets."""

from pathlib import Path

from stead.mariadb.connection import StatementFailed
from stead.node.databases.databases import Databases
from stead.node.databases.names import schema_name
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.datasets import FAILED, Source, copy_missing_uploads
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.protected_data import PushRefused, keep_data_of_production
from stead.node.wordpress.push_review import list_newer
from stead.node.wordpress.tree_copy import CopyFailed
from stead.protocol.work.hosting import PushMode
from stead.shared.ids import EnvironmentId

NOT_ALLOWED = "environment.push_not_allowed"


async def review(socket: Path, source: Source, production: Source, mode: PushMode, task: Assignment) -> None:
    """Say what production has that the environment does not have."""
    if mode == "files":
        await task.output.say("push: the database of production is not changed")
        return
    schemas = [schema_name(each.environment, each.rows) for each in (production, source)]
    try:
        found = await run_in_thread(list_newer, socket, *schemas)
    except StatementFailed as error:
        raise Refusal(FAILED, f"the databases cannot be compared: error {error.number}") from None
    if not found:
        await task.output.say("push: production has nothing that the environment does not have")
    for each in found:
        await task.output.say(f"push: {each}")


async def take_over(databases: Databases, before: WordPressPlan, plan: WordPressPlan, mode: PushMode) -> None:
    """Copy what visitors of production did to the new dataset. Production is stopped, and afterwards nobody
    can write to the database that it has served."""
    if mode != "files":
        # Commands and sessions cannot write any more, either.
        await databases.keep(EnvironmentId(plan.desired.environment), before.desired.spec.datasets.schema)
        try:
            await run_in_thread(keep_data_of_production, databases.socket, before.database, plan.database)
        except PushRefused as refused:
            raise Refusal(NOT_ALLOWED, str(refused)) from None
        except StatementFailed as error:
            raise Refusal(FAILED, f"orders could not be kept: error {error.number}") from None
    if mode != "db":
        try:
            await run_in_thread(copy_missing_uploads(before.paths, plan).run)
        except (CopyFailed, OSError) as error:
            raise Refusal(FAILED, f"uploads could not be kept: {error}") from None
