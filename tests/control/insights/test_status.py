"""What operators see."""

from stead.control.insights.status import list_nodes, render
from stead.control.insights.table_store import measure_tables
from stead.control.insights.tables import TABLES
from tests.control.insights.conftest import NODE, Pipeline
from tests.control.insights.recorded import ledger_line
from tests.control.served_site import ServedSite


async def test_operators_see_amounts_and_no_tenants(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.record(ledger_line(site.env, path="/private", host="secret.example.com"))
    async with pipeline.plane.database.reading() as tx:
        nodes = await list_nodes(tx)
    stored = await measure_tables(pipeline.plane.clickhouse)
    assert [table.name for table in stored] == list(TABLES)
    assert stored[0].rows > 0
    [node] = [node for node in nodes if node.node_id == NODE]
    assert (node.waiting, node.until is not None) == (0, True)
    text = render(nodes, stored)
    assert NODE in text
    assert "requests" in text
    for private in (site.id, site.env, "/private", "secret.example.com"):
        assert private not in text
    assert "does not answer" in render(nodes, None)
