"""Who may enter which environment, as a node remembers it."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_field

from stead.node.access.driver import AccessDriver
from stead.node.access.table import KEEP_DAYS, AccessTable
from stead.node.drivers.driver import Refusal
from stead.protocol.sealed_work import open_work, public_key_of, seal_work
from stead.protocol.work.access import AccessKey, AccessPassword, DatabasePassword, SetAccess
from tests.node.driver_pairs import new_assignment

ENV, OTHER, SITE = "env_a", "env_b", "site_a"
NOW = 1_800_000_000.0


class Times:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def table(tmp_path: Path, times: Times) -> Iterator[AccessTable]:
    table = AccessTable(tmp_path / "access.sqlite", now=times)
    yield table
    table.close()


def key(
    name: str, *, account: str = "client_a", may_run_commands: bool = True, expires_at: float | None = None
) -> AccessKey:
    return AccessKey(f"sshk_{name}", account, f"SHA256:{name}", name.encode(), may_run_commands, expires_at)


def password(text: str, name: str = "pw", expires_at: float | None = None) -> AccessPassword:
    return AccessPassword(name, "client_a", sha256(text.encode()).digest(), expires_at)


def access(
    generation: int, *keys: AccessKey, user: str = "shop", sftp: AccessPassword | None = None
) -> SetAccess:
    return SetAccess(generation, user, keys, sftp)


def test_only_a_listed_key_opens_only_its_own_environment(table: AccessTable) -> None:
    table.replace(ENV, SITE, access(1, key("anna"), key("old", expires_at=NOW - 1), sftp=password("s3cret")))
    table.replace(
        OTHER, "site_b", access(1, key("bela", account="client_b", may_run_commands=False), user="blog")
    )
    assert table.authorize("shop", b"anna") is not None
    for user, public_key in (
        ("shop", b"bela"),
        ("blog", b"anna"),
        ("shop", b""),
        ("shop", b"ann"),
        ("shop", b"annaa"),
        ("shop", b"old"),
        ("SHOP", b"anna"),
        ("shop ", b"anna"),
        ("sho%", b"anna"),
        ("", b"anna"),
        ("shop' or '1'='1", b"anna"),
        (ENV, b"anna"),
        ("x" * 100_000, b"anna"),
    ):
        assert table.authorize(user, public_key) is None, (user[:20], public_key)
    for user, text in (
        ("shop", ""),
        ("shop", "s3cre"),
        ("shop", "s3cret "),
        ("blog", "s3cret"),
        ("blog", ""),
        ("shop", "x" * 1_000_000),
        ("shop", "\ud800"),
    ):
        assert table.authorize_password(user, text) is None, (user, text[:20])

    admitted = table.authorize("blog", b"bela")
    assert admitted is not None
    assert (admitted.environment, admitted.account, admitted.may_run_commands) == (OTHER, "client_b", False)
    by_password = table.authorize_password("shop", "s3cret")
    assert by_password is not None
    assert by_password.is_password
    assert not by_password.may_run_commands
    assert table.still_holds(by_password)
    # An admission of one environment is worth nothing in another one.
    assert not table.still_holds(replace(admitted, environment=ENV))
    assert not table.still_holds(replace(admitted, may_run_commands=True))


def test_an_admission_ends_with_its_key_its_expiry_or_its_environment(
    table: AccessTable, times: Times
) -> None:
    changed: list[str] = []
    stop_listening = table.add_listener(changed.append)
    table.replace(ENV, SITE, access(1, key("anna"), key("temp", expires_at=NOW + 60), sftp=password("one")))
    anna, temp = table.authorize("shop", b"anna"), table.authorize("shop", b"temp")
    sftp = table.authorize_password("shop", "one")
    assert anna is not None
    assert temp is not None
    assert sftp is not None

    times.now = NOW + 60
    assert not table.still_holds(temp)
    assert table.authorize("shop", b"temp") is None

    table.replace(ENV, SITE, access(2, key("anna"), sftp=password("two", "other")))
    assert table.still_holds(anna)
    assert not table.still_holds(sftp), "the old password was replaced"

    # The same key, but somebody else is responsible for it now.
    table.replace(ENV, SITE, access(3, key("anna", account="client_b")))
    assert not table.still_holds(anna)
    table.replace(ENV, SITE, access(4, key("anna")))
    assert table.still_holds(anna)
    table.replace(ENV, SITE, access(5, key("anna", may_run_commands=False)))
    assert not table.still_holds(anna)
    table.replace(ENV, SITE, access(6))
    assert not table.still_holds(anna)
    assert changed == [ENV] * 6
    stop_listening()
    table.replace(ENV, SITE, access(7))
    assert changed == [ENV] * 6


def test_an_outdated_list_replaces_nothing_also_after_a_restart(tmp_path: Path, times: Times) -> None:
    file = tmp_path / "access.sqlite"
    table = AccessTable(file, now=times)
    changed: list[str] = []
    table.add_listener(changed.append)
    assert table.replace(ENV, SITE, access(5, key("anna")))
    assert table.replace(ENV, SITE, access(6))
    assert not table.replace(ENV, SITE, access(5, key("anna")))
    assert not table.replace(ENV, SITE, access(6, key("anna")))
    assert changed == [ENV, ENV]
    table.close()

    table = AccessTable(file, now=times)
    assert not table.replace(ENV, SITE, access(5, key("anna")))
    assert table.authorize("shop", b"anna") is None
    assert file.stat().st_mode & 0o077 == 0
    times.now = NOW + KEEP_DAYS * 86_400 - 1
    assert table.remove_old() == 0
    times.now = NOW + KEEP_DAYS * 86_400 + 1
    assert table.remove_old() == 1
    table.close()


def test_a_name_that_is_given_to_another_environment_opens_only_that_one(table: AccessTable) -> None:
    table.replace(ENV, SITE, access(1, key("anna")))
    anna = table.authorize("shop", b"anna")
    assert anna is not None
    table.replace(OTHER, "site_b", access(1, key("bela", account="client_b")))
    assert table.authorize("shop", b"anna") is None
    assert not table.still_holds(anna)
    bela = table.authorize("shop", b"bela")
    assert bela is not None
    assert bela.environment == OTHER
    # The empty list of the former environment comes late and takes nothing away.
    table.replace(ENV, SITE, access(2))
    assert table.authorize("shop", b"bela") is not None


async def test_the_driver_stores_a_list_and_refuses_a_malformed_environment(table: AccessTable) -> None:
    driver = AccessDriver(table)
    assignment = new_assignment()
    await driver.set_access(assignment, access(1, key("anna")))
    await driver.set_access(assignment, access(1, key("anna")))
    found = table.authorize("shop", b"anna")
    assert found is not None
    assert (found.environment, found.site) == (assignment.environment, assignment.site)
    with pytest.raises(Refusal):
        await driver.set_access(replace(assignment, environment="../x"), access(1))


def test_the_hash_of_a_password_is_sealed_to_the_node() -> None:
    private = bytes(range(32))
    work = replace_field(
        access(1, key("anna"), sftp=password("s3cret")),
        database=DatabasePassword("pass_1", "client_a", b"hash of the password"),
    )
    plain, sealed = seal_work(work, public_key_of(private), node="n", job="access", step="s")
    assert isinstance(plain, SetAccess)
    assert plain.password is not None
    assert plain.password.sha256 == b""
    assert plain.database is not None
    assert plain.database.double_sha1 == b""
    assert open_work(plain, sealed, private, node="n", job="access", step="s") == work
