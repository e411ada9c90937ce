"""The compiled rules of a release, as a node writes them."""

from stead.artifacts.site_rules.compiler import compile_rules, read_rules
from tests.edge.edge_harness import EdgeHarness


def install_rules(edge: EdgeHarness, release: str) -> list[str]:
    """As a node does when it deploys the release. Returns the warnings for the build log."""
    home = edge.data / "release-rules"
    home.mkdir(exist_ok=True)
    home.chmod(0o755)
    rules = read_rules(edge.data / "releases" / release)
    if (compiled := compile_rules(rules)) is not None:
        (home / f"{release}.json").write_bytes(compiled)
    return rules.warnings
