"""Every declared event type is published by some test: a type that nothing publishes is a promise without
effect.

Three kinds of tests publish events: the walk over all mutations below; the fault suite of jobs, which checks
the events that each scenario names; and those that are listed here with the event they check.
"""

import importlib
import inspect

import pytest

from stead.control.app import ControlPlane
from stead.control.features import all_operations, event_catalog
from tests.conftest import NewPerson
from tests.contract.walk import ask, request_of
from tests.faults.jobs.scenarios import all_scenarios

MUTATIONS = [each for each in all_operations() if each.method != "GET" and not each.requires.public]
CHECKED_ELSEWHERE = {
    "build.started": "tests.control.events.test_every_change",
    "certificate.expired": "tests.control.certificates.test_failures",
    "certificate.failed": "tests.control.certificates.test_failures",
    "certificate.issued": "tests.control.certificates.test_issuance",
    "certificate.renewed": "tests.control.certificates.test_issuance",
    "deploy.started": "tests.control.events.test_every_change",
    "domain.failed": "tests.control.domains.test_verification",
    "domain.verified": "tests.control.domains.test_verification",
    "env.destroy_called_off": "tests.control.environments.test_maintenance",
    "env.destroy_scheduled": "tests.control.environments.test_maintenance",
    "env.status_changed": "tests.control.events.test_every_change",
    "function.limited": "tests.control.functions.test_functions",
    "git.push_received": "tests.control.git.test_pushes",
    "git.push_skipped": "tests.control.git.test_pushes",
    "git.unreachable": "tests.control.git.test_polling",
    "job.failed": "tests.control.events.test_every_change",
    "job.started": "tests.control.events.test_every_change",
    "job.succeeded": "tests.control.events.test_every_change",
    "malware.detected": "tests.control.malware.test_scans",
    "site.hook_secret_rolled": "tests.control.git.test_branch_routes",
    "site.reachable": "tests.control.events.test_every_change",
    "site.status_changed": "tests.control.events.test_every_change",
    "site.unreachable": "tests.control.events.test_every_change",
    "snapshot.damaged": "tests.repositories.test_maintenance",
    "snapshot.overdue": "tests.control.backups.test_nights",
    "snapshot.suspicious": "tests.repositories.test_maintenance",
    "vulnerability.matched": "tests.control.vulnerabilities.test_matching",
    "webhook.endpoint_disabled": "tests.control.webhooks.test_retries",
}
"""Events that need neither a request nor a job of their own, and the module that checks them."""


async def _published_by_mutations(new_person: NewPerson, plane: ControlPlane) -> set[str]:
    async with plane.database.reading() as tx:
        last = await tx.value("select coalesce(max(written), 0) from events")
    for operation in MUTATIONS:
        person = await new_person()
        values, options = await request_of(operation, person)
        response = await ask(person.session, operation, values, **options)
        assert response.status_code == operation.status, response.text
    async with plane.database.reading() as tx:
        return set(await tx.all(str, "select distinct type from events where written > $1", last))


async def test_every_declared_type_is_published(new_person: NewPerson, plane: ControlPlane):
    scenarios = all_scenarios().values()
    by_jobs = {each.event for each in scenarios} | {each.failure_event for each in scenarios}
    published = await _published_by_mutations(new_person, plane) | by_jobs | CHECKED_ELSEWHERE.keys()
    assert set(event_catalog()) - published == set()


@pytest.mark.parametrize("type_", CHECKED_ELSEWHERE)
def test_the_module_that_is_named_for_an_event_checks_it(type_: str):
    assert type_ in event_catalog()
    assert f'"{type_}"' in inspect.getsource(importlib.import_module(CHECKED_ELSEWHERE[type_]))
