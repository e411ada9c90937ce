"""The code of a git-managed site is its release: probed before visitors see it, read-only, and kept across
restarts."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from stead.node.drivers.driver import Refusal
from stead.node.wordpress.release_layout import FILE, ReleaseLayout
from stead.protocol.work.releases import EnsureRelease
from tests.node.harness import until
from tests.node.layer_server import LayerServer, serve_layers
from tests.node.wordpress.wordpress_node import Site, WordPressNode

PATIENCE = 60.0
TRY_TO_WRITE = """
foreach (["plugins/new.php", "themes/new.php", "new.php", "uploads/new.txt"] as $name) {
    echo $name, @file_put_contents("/srv/site/wp-content/$name", "x") ? " written " : " refused ";
}
require "/srv/site/wp-load.php";
echo wp_is_file_mod_allowed("any") ? "changeable" : "unchangeable";
"""


@pytest.fixture(scope="module")
def layers() -> Iterator[LayerServer]:
    with serve_layers() as server:
        yield server


@pytest.fixture(scope="module")
async def managed(node: WordPressNode) -> AsyncIterator[Site]:
    """A git-managed site without a release yet."""
    site = await node.create(git_managed=True)
    yield site
    await node.remove(site)


def make_release(
    layers: LayerServer, page: str, layout: ReleaseLayout | None = None, **more: str
) -> EnsureRelease:
    """A release whose front page is made by `page`, in PHP. `more` are files of the theme."""
    layout = layout or ReleaseLayout(stylesheet="own", template="own")
    content = layout.content
    files = {
        FILE: msgspec.json.encode(layout).decode(),
        f"{content}/uploads/.keep": "",
        f"{content}/themes/own/style.css": "/*\nTheme Name: Own\n*/",
        f"{content}/themes/own/index.php": f"<?php {page}",
        f"{content}/plugins/try.php": f"<?php {TRY_TO_WRITE}",
        **{f"{content}/themes/own/{name}.php": f"<?php {code}" for name, code in more.items()},
    }
    return layers.offer(files, "cms")


async def test_before_its_first_release_a_site_shows_wordpress_as_it_comes(managed: Site):
    page = await managed.get("/?before=1")
    assert page.status_code == 200
    assert "A Site" in page.text


async def test_a_release_is_served_and_only_uploads_can_be_changed(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    await node.deploy(managed, make_release(layers, 'echo "first words of ", get_bloginfo("name");'))
    # The theme that was active is not in the release, so the one of the release is shown.
    assert (await managed.get("/?r=1")).text == "first words of A Site"
    assert (await managed.get("/wp-content/themes/own/style.css")).status_code == 200
    assert (await managed.get("/wp-content/themes/twentytwentyfive/style.css")).status_code == 404
    assert (await managed.get("/wp-includes/css/dashicons.min.css")).status_code == 200
    assert (await managed.get("/stead-release.json")).status_code == 404
    tried = await managed.get("/wp-content/plugins/try.php")
    assert tried.text.split() == [
        *("plugins/new.php", "refused", "themes/new.php", "refused", "new.php", "refused"),
        *("uploads/new.txt", "written", "unchangeable"),
    ]
    assert (await managed.get("/wp-content/uploads/new.txt")).text == "x"
    (managed.paths.uploads / "evil.php").write_text("<?php echo 'run';")
    assert "run" not in (await managed.get("/wp-content/uploads/evil.php")).text


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (("echo 1;", "this is no PHP"), "themes/own/functions.php:1"),
        (
            ("missing_function();", ""),
            "PHP: Uncaught Error: Call to undefined function missing_function()",
        ),
        (('wp_die("no", "no", ["response" => 503]);', ""), "the front page was answered 503"),
        (("echo 1;", "status_header(500); exit;"), "answered 500"),
    ],
)
async def test_a_broken_release_is_refused_with_the_reason_and_the_old_one_stays(
    node: WordPressNode, managed: Site, layers: LayerServer, broken: tuple[str, str], reason: str
):
    await node.deploy(managed, make_release(layers, 'echo "words that stay";'))
    with pytest.raises(Refusal) as refused:
        await node.deploy(managed, make_release(layers, broken[0], functions=broken[1]))
    assert refused.value.code == "deploy.unhealthy"
    assert reason in refused.value.reason
    assert "\n" not in refused.value.reason
    assert (await managed.get("/?r=2")).text == "words that stay"
    assert not (managed.paths.memory / "probe").exists()


async def test_no_request_is_lost_when_the_release_changes_and_when_it_is_rolled_back(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    old = make_release(layers, 'usleep(100000); echo "old words";')
    new = make_release(layers, 'echo "new words";')
    await node.deploy(managed, old)
    seen: list[tuple[int, str]] = []
    ended = asyncio.Event()

    async def visit() -> None:
        while not ended.is_set():
            answer = await managed.get(f"/?n={len(seen)}")
            seen.append((answer.status_code, answer.text))

    visitors = [asyncio.create_task(visit()) for _ in range(3)]
    await node.deploy(managed, new)
    assert (await managed.get("/?after=switch")).text == "new words"
    await node.deploy(managed, old)
    assert (await managed.get("/?after=rollback")).text == "old words"
    ended.set()
    await asyncio.gather(*visitors)
    assert set(seen) == {(200, "old words"), (200, "new words")}


async def test_composer_finds_the_code_where_it_was_built(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    layout = ReleaseLayout("web/app", "vendor/autoload.php", "own", "own")
    release = make_release(layers, "echo WP_CONTENT_DIR, ' ', greeting();", layout)
    built = layers.offer(
        {
            FILE: msgspec.json.encode(layout).decode(),
            "vendor/autoload.php": "<?php require __DIR__ . '/../src/greeting.php';",
            "src/greeting.php": "<?php function greeting() { return content_url('/x'); }",
            "web/app/uploads/.keep": "",
            "web/app/themes/own/style.css": "/*\nTheme Name: Own\n*/",
            "web/app/themes/own/index.php": "<?php echo WP_CONTENT_DIR, ' ', greeting();",
        },
        "cms",
    )
    with pytest.raises(Refusal) as refused:
        await node.deploy(managed, release)
    assert "vendor/autoload.php" in refused.value.reason
    await node.deploy(managed, built)
    shown = (await managed.get("/?r=3")).text
    assert shown == f"/run/release/web/app http://{managed.host}/wp-content/x"
    assert (await managed.get("/wp-content/themes/own/style.css")).status_code == 200


async def test_the_release_survives_a_restart_of_the_agent_and_a_reboot(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    await node.deploy(managed, make_release(layers, 'echo "lasting words";'))
    await node.stop_agent()
    assert (await managed.get("/?r=4")).text == "lasting words"
    await node.start_agent()
    await node.runtime.wake(managed.environment)
    assert (await managed.get("/?r=5")).text == "lasting words"
    await node.reboot()

    async def answers() -> bool | None:
        return (await managed.get("/?r=6")).text == "lasting words" or None

    await until(answers, PATIENCE)
    assert (await managed.get("/wp-content/themes/own/style.css")).status_code == 200


async def test_a_change_that_the_agent_had_only_recorded_is_made_when_it_starts_again(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    await node.deploy(managed, make_release(layers, 'echo "old words";'))
    new = make_release(layers, 'echo "recorded words";')
    await node.runtime.releases.ensure(managed.assignment, new)
    plan = managed.hosted.plan
    desired = plan.desired  # type: ignore[attr-defined]
    spec = msgspec.structs.replace(desired.spec, release=new.digest.removeprefix("sha256:"))
    await node.stop_agent()
    node.runtime.environments.state.put(managed.environment, desired.site, spec, desired.secrets)
    await node.start_agent()
    await node.runtime.wake(managed.environment)
    assert (await managed.get("/?r=7")).text == "recorded words"


async def test_releases_of_another_kind_are_refused(node: WordPressNode, managed: Site, layers: LayerServer):
    for files, runtime in (({"index.html": "static"}, "static"), ({"index.php": "no layout"}, "cms")):
        with pytest.raises(Refusal) as refused:
            await node.runtime.releases.ensure(managed.assignment, layers.offer(files, runtime))  # type: ignore[arg-type]
        assert refused.value.code == "artifact.signature_invalid"


async def test_old_releases_are_removed_from_the_node(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    oldest = make_release(layers, 'echo "oldest words";')
    await node.runtime.releases.ensure(managed.assignment, oldest)
    for number in range(10):
        await node.runtime.releases.ensure(managed.assignment, make_release(layers, f"echo {number};"))
    await node.releases.collect(node.data / "environments")
    kept = {path.name for path in (node.data / "releases").iterdir()}
    assert oldest.digest.removeprefix("sha256:") not in kept
    assert managed.hosted.plan.desired.spec.release in kept  # type: ignore[attr-defined]
