"""Where a site comes from: git over HTTP, uploads, archives."""

import re

from tests.node.builds.stage import Bench, Said

PAGE = {"index.html": "<h1>Hello</h1>", "css/site.css": "body {}"}


async def test_a_folder_of_a_repository_becomes_a_layer_with_its_commit(bench: Bench) -> None:
    commit = bench.repositories.repository("plain", PAGE, "Say hello.\n\nWith care.")
    said, wanted = Said(), bench.wanted(bench.git("plain"))
    facts = await bench.build(wanted, said)
    assert bench.layer(wanted) == {name: text.encode() for name, text in PAGE.items()}
    assert (facts.commit, facts.ref, facts.files) == (commit, "main", 2)
    assert (facts.author, facts.message) == ("Ada Builder <ada@example.com>", "Say hello.\n\nWith care.")
    assert all(re.match(r"\[\d\d:\d\d:\d\d\] (fetch|build|pack)( \|)?: ?", line) for line in said.lines), said
