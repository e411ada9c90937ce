"""Samples of access to sites. Only WordPress sites have an administration."""

from typing import Any

from stead.control.environments.rules import EnvironmentNotFound
from tests.control.exec.samples import insert_wordpress_site
from tests.feature_samples import Samples, Values
from tests.people import Person

OPERATIONS = frozenset({"sites.magic_link", "access.admin_password_reset"})


async def _wordpress_site(person: Person, _: Values) -> str:
    return await insert_wordpress_site(person)


async def _kind(_: Person, __: Values) -> str:
    return "sftp"


async def _production(_: Person, __: Values) -> dict[str, Any]:
    return {"environment": "production"}


SAMPLES = Samples(
    path_makers={"kind": _kind},
    path_ids={"kind": lambda _: "sftp"},
    body_makers={"access.credentials_reset": _production},
    body_values={"PasswordReset.environment": lambda _: "production"},
    path_makers_of={name: {"site_id": _wordpress_site} for name in OPERATIONS},
    open_to_test_keys=OPERATIONS | {"access.ssh_keys_replace", "access.credentials_reset"},
    silent_operations={"sites.magic_link": "A link exists for a minute, and the audit trail records it."},
    foreign_ids={"environment": (EnvironmentNotFound.code, lambda world, flavour: world.staging[flavour].id)},
)
