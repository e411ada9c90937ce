"""Starters of real generators are built from their lock files as they are, and served."""

from pathlib import Path

import pytest

from tests.git_server import GitServer
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.visitor import Visitor
from tests.made_images import has_image

STARTERS = Path(__file__).parents[1] / "starters"
IMAGES = {"zensical": "python", "hugo": "hugo"}
"""Starters that need another image than `static`. They are built where it exists."""
TITLES = {
    "vite": "Vite",
    "sveltekit": "SvelteKit",
    "eleventy": "Eleventy",
    "astro": "Astro",
    "zensical": "Zensical",
    "hugo": "Hugo",
}


def read_starter(name: str) -> dict[str, str]:
    folder = STARTERS / name
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.mark.parametrize("name", [name for name in TITLES if name not in IMAGES or has_image(IMAGES[name])])
async def test_a_starter_is_built_from_its_lock_file_and_served(
    name: str, customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create(f"{name}.git")
    commit = repository.commit_files(read_starter(name))
    domain = f"{name}.example.com"
    wanted = {"domain": domain, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    production = f"/v1/sites/{created['resource']['site_id']}/environments/production"
    build = await built(customer, production, commit)
    heard = await customer.listen(build["job_id"])
    assert any(f"this is a project of {TITLES[name]}" in line for line in heard.lines)
    await deployed(customer, production, build["artifact_id"])
    await visitor.until(domain, f"A starter of {TITLES[name]}")
