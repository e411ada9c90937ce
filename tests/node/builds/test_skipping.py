"""A build whose source is that of the live release is skipped, and only then."""

from msgspec.structs import replace

from stead.node.builds import relevance
from tests.node.builds.build_harness import BuildHarness, CapturedOutput
from tests.node.builds.projects import scripted

MONOREPO = {
    "stead.json": '{"root": "apps/web", "watch": ["packages/ui"]}',
    "apps/web/index.html": "first",
    "apps/api/main.py": "first",
    "packages/ui/style.css": "first",
    "README.md": "first",
}


async def test_a_push_that_changes_nothing_in_the_root_of_the_project_is_skipped(bench: BuildHarness) -> None:
    def commit(**changed: str) -> None:
        files = MONOREPO | {name.replace("__", "/").replace("_", "."): text for name, text in changed.items()}
        bench.repositories.repository("monorepo", files)

    commit()
    wanted = bench.wanted(bench.git("monorepo"))
    first = await bench.build(wanted)
    assert bench.layer(wanted) == {"index.html": b"first", "stead.json": MONOREPO["stead.json"].encode()}
    assert len(first.source_digest) == 64
    again = replace(wanted, unchanged_source=first.source_digest)

    commit(apps__api__main_py="second", README_md="second")
    said = CapturedOutput()
    skipped = await bench.build(again, said)
    assert (skipped.unchanged, skipped.digest, skipped.commit != first.commit) == (True, "", True)
    assert "skipped: nothing that this site is built from has changed" in said.text

    for change in ({"apps__web__index_html": "second"}, {"packages__ui__style_css": "second"}):
        commit(**change)
        assert not (await bench.build(again)).unchanged

    commit(apps__api__main_py="third")
    assert not (await bench.build(replace(wanted, unchanged_source="0" * 64))).unchanged
    assert not (await bench.build(wanted)).unchanged, "a build that the customer asked for is not skipped"


async def test_an_archive_is_always_built(bench: BuildHarness) -> None:
    wanted = bench.wanted(
        bench.upload(scripted("require('fs').mkdirSync('dist');require('fs').writeFileSync('dist/a','b')"))
    )
    built = await bench.build(replace(wanted, unchanged_source=""))
    assert (built.unchanged, built.source_digest) == (False, "")


def test_the_digest_depends_on_exactly_the_relevant_paths() -> None:
    tree = relevance.read_tree(
        b"040000 tree aa\tapps\x00100644 blob bb\tREADME.md\x00040000 tree cc\tapps/web\x00"
    )
    assert tree == {"apps": "040000 tree aa", "README.md": "100644 blob bb", "apps/web": "040000 tree cc"}
    everything, web = relevance.digest(tree, None), relevance.digest(tree, ["apps/web"])
    other = tree | {"README.md": "100644 blob dd"}
    assert relevance.digest(other, None) != everything
    assert relevance.digest(other, ["apps/web"]) == web
    for unknown in ("gone", "", "*.json"):
        assert relevance.digest(tree, ["apps/web", unknown]) == "", "when in doubt, it is built"
    without = relevance.digest(tree, ["apps/web", "stead.json"])
    assert len(without) == 64
    assert without != relevance.digest(tree | {"stead.json": "100644 blob ee"}, ["apps/web", "stead.json"])
    assert relevance.digest(tree, ["apps/web"], "another image") != web
    assert relevance.digest({}, None) == ""
    assert relevance.digest(tree, ["apps/web", "apps/web/file.css"]) == "", "only directories are known"
