"""A step with a command for each environment of a site: one after the other, and all are undone."""

import pytest

from tests.control.environments.fault_scenarios import clone
from tests.control.php.fault_scenarios import switch, wordpress_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.sites import SiteUnderTest, require_success

pytestmark = pytest.mark.faults


async def _site_with_staging(harness: Harness) -> SiteUnderTest:
    site = await wordpress_site(harness)
    await require_success(harness, await clone(harness, site))
    return site


async def _php_version(harness: Harness, site: SiteUnderTest) -> str:
    return str((await harness.ask("GET", f"/v1/sites/{site.id}", status=200))["php_version"])


async def test_all_environments_are_switched_or_none(harness: Harness) -> None:
    site = await _site_with_staging(harness)
    staging = site.environment
    names = [
        *("requirements", f"requirements-{staging}", "copy", "verify", "php", f"php-{staging}"),
        *("undo-php", f"undo-php-{staging}"),
    ]
    queue = await harness.lock_queue()
    try:
        job = await switch(harness, site)
        harness.node.fail_at(f"switch_php {job} php-{staging}")
    finally:
        await queue.close()
    await harness.ended(job)
    steps = harness.node.steps(job)
    assert list(steps) == names
    assert {name for name, entry in steps.items() if entry.state != "done"} == {f"php-{staging}"}
    assert await _php_version(harness, site) == "8.2"

    job = await switch(harness, site)
    await require_success(harness, job)
    assert list(harness.node.steps(job)) == names[:6]
    assert await _php_version(harness, site) == "8.4"


async def test_a_job_that_is_cancelled_in_its_second_environment_is_undone_in_both(harness: Harness) -> None:
    site = await _site_with_staging(harness)
    held = f"php-{site.environment}"
    queue = await harness.lock_queue()
    try:
        job = await switch(harness, site)
        harness.node.hold([(job, held)])
    finally:
        await queue.close()
    await harness.node.wait_until_held([(job, held)])
    await harness.ask("POST", f"/v1/jobs/{job}/cancel")
    await harness.ended(job)
    steps = harness.node.steps(job)
    assert steps[held].state == "cancelled"
    assert {steps[name].state for name in ("undo-php", f"undo-{held}")} == {"done"}
    assert await _php_version(harness, site) == "8.2"
