"""What is needed before a database is changed, and what can be exported."""

from tests.answering_node import answering_site
from tests.client import code_of
from tests.people import Person


async def test_a_change_of_the_database_needs_a_snapshot_to_be_confirmed(person: Person):
    site = await answering_site(person, {})
    path, statement = f"/v1/sites/{site}/database/execute", {"query": "DELETE FROM wp_posts"}
    dry = await person.session.post(path, json=statement)
    assert dry.json()["data"]["applied"] is False
    assert code_of(await person.session.post(path, json=statement | {"confirm": True})) == (
        "database.snapshot_needed"
    )
    reader = await person.key("db:read")
    assert code_of(await reader.post(path, json=statement)) == "scope.insufficient"


async def test_either_tables_or_the_result_of_a_statement_are_exported(person: Person):
    site = await answering_site(person, {})
    path, query = f"/v1/sites/{site}/database/export", "SELECT ? AS secret"
    for body in ({"tables": ["wp_posts"], "query": query}, {"params": ["x"]}, {"query": ""}):
        assert code_of(await person.session.post(path, json=body)) == "request.field_invalid"
    body = {"query": query, "params": ["only for the database"]}
    assert (await person.session.post(path, json=body)).status_code == 202
    async with person.transaction() as tx:
        stored = await tx.value("select params::text from jobs where site_id = $1", site)
    assert "only for the database" not in stored
    assert "SELECT" not in stored
