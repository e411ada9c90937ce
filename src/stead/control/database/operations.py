"""HTTP operations on the database of a site."""

from stead.control.database import service
from stead.control.database.rules import ExportsExceeded, SnapshotNeeded, StatementRefused
from stead.control.database.schema import (
    DatabaseView,
    NewExport,
    NewQuery,
    NewStatement,
    QueryResultView,
    StatementResultView,
)
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.question_rules import QUESTION_ERRORS
from stead.control.sites.rules import SiteBusy

operation = Operations(tag="Database")
_twice = TwinOperations(operation)

_READ, _WRITE, _DATABASE = "db:read", "db:write", "database"


@_twice("GET /database", id="database.get", scope=_READ, capability=_DATABASE, errors=QUESTION_ERRORS)
async def get_database(call: Call, environment: VisibleEnvironment) -> Later[DatabaseView]:
    """Read the version, the size and the tables of the database of a site."""
    return await service.describe(call, environment)


@_twice(
    "POST /database/query",
    id="database.query",
    rate="read",
    scope=_READ,
    capability=_DATABASE,
    errors=(StatementRefused, *QUESTION_ERRORS),
)
async def query_database(
    call: Call, environment: VisibleEnvironment, body: NewQuery
) -> Later[QueryResultView]:
    """Run one statement that reads, with a user that can do nothing else. It may take 10 seconds.

    The tables contain everything that the site stores, also hashes of passwords and the secrets of plugins.
    """
    return await service.query(call, environment, body)


@_twice(
    "POST /database/execute",
    id="database.execute",
    rate="write",
    scope=_WRITE,
    capability=_DATABASE,
    destructive="irreversible",
    errors=(StatementRefused, SnapshotNeeded, SiteBusy, *QUESTION_ERRORS),
)
async def execute_statement(
    call: Call, environment: VisibleEnvironment, body: NewStatement
) -> Later[StatementResultView]:
    """Run one `INSERT`, `UPDATE`, `DELETE` or `REPLACE`: as a dry run, unless `confirm` is true.

    A dry run makes the change in a transaction, reports how many rows it affects, and takes it back. To apply
    it to production, the site needs a snapshot of the last hour.
    """
    return await service.execute(call, environment, body)


@_twice(
    "POST /database/export",
    id="database.export",
    scope=_READ,
    job="database.export",
    capability=_DATABASE,
    errors=(SiteBusy, EnvironmentBusy, JobsWaiting, ExportsExceeded),
)
async def export_database(call: Call, environment: VisibleEnvironment, body: NewExport | None) -> JobView:
    """Export the database of a site as SQL, or the result of a statement as lines of JSON.

    `GET /v1/jobs/{job_id}` shows the `download_url`, which expires, to credentials with `db:read`. A site has
    at most 3 exports at a time.
    """
    return await service.export(call, environment, body)
