"""Both Python clients call every operation of a running API with its documented request."""

import keyword
from typing import Any

from stead.control.http.operations import Operation
from stead_sdk._async.client import AsyncStead
from stead_sdk._model import Model
from stead_sdk._sync.client import Stead
from tests.clients.callers import Caller
from tests.contract.walk import OPERATIONS, each, request_of, required_filters
from tests.people import Person


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def method_of(client: Any, operation: Operation) -> Any:
    resource, _, action = operation.id.partition(".")
    return getattr(getattr(client, resource), python_name(action))


def test_both_clients_have_every_operation():
    for client in (Stead("", base_url="http://x"), AsyncStead("", base_url="http://x")):
        for operation in OPERATIONS:
            assert callable(method_of(client, operation)), operation.id


@each(lambda operation: operation.response_kind != "stream")
async def test_every_operation_can_be_called(operation: Operation, direct: Caller, person: Person):
    values, options = await request_of(operation, person)
    sent = {**required_filters(operation), **options.get("json", {})}
    body = {python_name(name): value for name, value in sent.items()}
    # Some operations are only for sessions.
    secret = person.session.headers["authorization"].removeprefix("Bearer ")
    caller = Caller(direct.flavor, secret, base_url=direct.client.base_url)
    found = await caller.run(lambda client: method_of(client, operation)(*values.values(), **body))
    caller.client.close()
    if operation.response_kind == "none":
        assert found is None
    elif operation.response_kind == "list":
        assert all(isinstance(item, Model) for item in found)
    elif operation.response_kind == "job":
        assert found.id.startswith("job_")
        assert found.job.status in ("queued", "running", "succeeded", "failed")
    elif operation.response_kind == "object":
        assert found.request_id.startswith("req_")
        for field in found._fields:
            getattr(found, field)
