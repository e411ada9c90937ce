"""A WordPress site whose code comes from git, for journeys with branches."""

from dataclasses import dataclass

from tests.git_server import GitServer, Repository
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.forge import Forge
from tests.journeys.wordpress_site import ADMIN
from tests.node.builds.wordpress_sites import composer_site

DOMAIN = "with-branches.example.com"


@dataclass(frozen=True)
class ManagedSite:
    path: str
    """Of the site, in the API."""
    host: str
    """The preview host of its production."""
    repository: Repository
    first: str
    """The commit that was deployed first."""

    async def connect(self, customer: Customer, *rules: dict[str, str]) -> Forge:
        """A forge whose pushes follow these rules. It replaces the one before."""
        routes = {"rules": list(rules), "roll_hook_secret": True}
        connection = await customer.put(f"{self.path}/branch-routes", routes)
        return Forge(connection["hook_url"], connection["hook_secret"], self.repository.url)


def front_page(words: str) -> dict[str, str]:
    """The front page; the words are inside single quotes of PHP."""
    return {"web/app/themes/own/index.php": f"<?php echo '{words}';"}


async def create_from_git(customer: Customer, repository: Repository, domain: str) -> str:
    """Create the site, and return its path in the API. Nothing of the repository is deployed yet."""
    wanted = {
        "domain": domain,
        "profile": "git_managed",
        "php_version": "8.2",
        "git_repo": repository.url,
        "admin": ADMIN,
    }
    created = await customer.does("POST", "/v1/sites", wanted)
    return f"/v1/sites/{created['resource']['site_id']}"


async def create_managed_site(customer: Customer, git_server: GitServer) -> ManagedSite:
    """Return when its first commit is served."""
    repository = git_server.create("branches.git")
    first = repository.commit(**(composer_site() | front_page("first words, ', greeting(), '")))
    path = await create_from_git(customer, repository, DOMAIN)
    production = f"{path}/environments/production"
    await deployed(customer, production, (await built(customer, production, first))["artifact_id"])
    host = (await customer.get(production))["subdomain"]
    return ManagedSite(path, host, repository, first)
