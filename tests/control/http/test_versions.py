"""Dated versions: all are known and echoed, and what has changed is rewritten for old pins."""

from datetime import date

import pytest

from stead.control.http.version_changes import CHANGES, History, JobResultsNameProducedResources, Php81Removed
from stead.shared.versions import LATEST, VERSIONS
from tests.client import Client, code_of
from tests.people import Person

DATES = ["2026-06-23", "2026-06-26", "2026-06-28", "2026-07-02", "2026-07-04", "2026-07-05"]


def pin(version: str) -> dict[str, str]:
    return {"api-version": version}


def test_the_published_dates_are_those_of_the_contract():
    assert [version.isoformat() for version in VERSIONS] == DATES
    assert LATEST.isoformat() == DATES[-1]


@pytest.mark.parametrize("version", DATES)
async def test_a_pinned_version_is_echoed_whatever_the_answer(
    anonymous: Client, person: Person, version: str
):
    for answer in (
        await person.session.get("/v1/account", headers=pin(version)),
        await person.session.get("/v1/api-keys/nope", headers=pin(version)),
        await person.session.post("/v1/api-keys", content=b"{", headers=pin(version)),
        await person.session.delete("/v1/sessions/current", headers=pin(version)),
        await anonymous.get("/v1/account", headers=pin(version)),
    ):
        assert answer.headers["api-version"] == version
        assert answer.headers["x-api-stability"] == "preview"


async def test_without_a_pin_the_latest_version_is_in_effect(person: Person):
    answer = await person.session.get("/v1/account")
    assert answer.headers["api-version"] == DATES[-1]
    assert "deprecation" not in answer.headers


@pytest.mark.parametrize(
    "version", ["2026-06-24", "2026-07-06", "1", "latest", "2026-7-5", "2026-07-05,", "x" * 500, "é"]
)
async def test_an_unknown_version_is_refused_even_before_the_credential(anonymous: Client, version: str):
    refused = await anonymous.get("/v1/account", headers={b"api-version": version.encode("latin-1")})
    assert (refused.status_code, code_of(refused)) == (400, "version.unknown")
    assert refused.headers["api-version"] == DATES[-1]
    assert len(refused.json()["error"]["message"]) < 100


JOB = {"id": "job_1", "result": {"artifact_id": "art_1", "key_id": "key_1", "url": "u", "commit": "c"}}


@pytest.mark.parametrize("version", VERSIONS)
def test_job_results_named_nothing_before_july_4(version: date):
    seen = History("Job").downgrade_response([JOB, {"id": "job_2", "result": None}], version)
    whole = version >= date(2026, 7, 4)
    assert seen[0]["result"] == (JOB["result"] if whole else {"url": "u", "commit": "c"})
    assert seen[1] == {"id": "job_2", "result": None}
    assert set(JOB["result"]) == {"artifact_id", "key_id", "url", "commit"}


def test_the_ids_that_a_result_lost_are_those_of_what_jobs_make():
    produced = {"artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "key_id"}
    assert produced == JobResultsNameProducedResources.produced


@pytest.mark.parametrize(
    ("version", "asked", "given"),
    [("2026-07-02", "8.1", "8.2"), ("2026-07-04", "8.1", "8.1"), ("2026-06-23", "8.4", "8.4")],
)
def test_php_8_1_becomes_8_2_for_who_pinned_an_older_version(version: str, asked: str, given: str):
    old = {"domain": "a.example", "php_version": asked}
    newer = History("NewSite").upgrade_request(old, date.fromisoformat(version))
    assert newer == {"domain": "a.example", "php_version": given}
    assert old["php_version"] == asked
    assert Php81Removed().upgrade_request({"domain": "a.example"}) == {"domain": "a.example"}


def test_every_real_change_belongs_to_a_published_version():
    for change in CHANGES:
        assert change.since in VERSIONS
        assert change.summary.endswith(".")
