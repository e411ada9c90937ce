"""A WordPress site that journeys share: creating one takes longer than most of what is done with it."""

import secrets
from dataclasses import dataclass

from tests.journeys.customer import Customer

DOMAIN = "first-words.example.com"
ADMIN = {
    "username": "editor",
    "email": "editor@example.com",
    "password": f"correct horse battery staple {secrets.token_hex(8)}",
}


@dataclass(frozen=True)
class WordPressSite:
    path: str
    """Of the site, in the API."""
    host: str
    """The preview host of its production."""


async def create_wordpress_site(customer: Customer) -> WordPressSite:
    wanted = {"domain": DOMAIN, "profile": "vanilla", "php_version": "8.2", "admin": ADMIN}
    created = await customer.does("POST", "/v1/sites", wanted)
    path = f"/v1/sites/{created['resource']['site_id']}"
    host = (await customer.get(f"{path}/environments/production"))["subdomain"]
    return WordPressSite(path, host)
