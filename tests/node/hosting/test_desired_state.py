"""What environments should be survives the agent; its secrets are useless without the key of the node."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from stead.node.hosting.desired_state import FIRST_SLOT, DesiredState, SecretsUnreadable

KEY = bytes(range(32))


class Spec(Struct, frozen=True):
    image: str


class Secrets(Struct, frozen=True):
    password: str


State = DesiredState[Spec, Secrets]
Open = Callable[..., State]


@pytest.fixture
def reopen(tmp_path: Path) -> Open:
    def open_(key: bytes = KEY) -> State:
        return DesiredState(tmp_path / "state.sqlite", Spec, Secrets, key)

    return open_


def test_an_environment_is_found_again_after_a_restart(reopen: Open):
    first = reopen()
    first.put("env_a", "site_a", Spec("one"), Secrets("hidden"))
    first.close()
    found = reopen().find("env_a")
    assert found is not None
    assert (found.site, found.spec, found.secrets, found.suspended) == (
        "site_a",
        Spec("one"),
        Secrets("hidden"),
        False,
    )


def test_no_secret_is_readable_on_the_disk(reopen: Open, tmp_path: Path):
    state = reopen()
    state.put("env_a", "site_a", Spec("one"), Secrets("canary-c41f"))
    state.put("env_a", "site_a", Spec("two"), Secrets("canary-c41f"))
    for file in tmp_path.iterdir():
        assert b"canary-c41f" not in file.read_bytes()
        assert not file.stat().st_mode & 0o077


def test_another_key_of_the_node_cannot_open_the_secrets(reopen: Open):
    reopen().put("env_a", "site_a", Spec("one"), Secrets("hidden"))
    with pytest.raises(SecretsUnreadable):
        reopen(bytes(32)).find("env_a")


def test_secrets_of_one_environment_cannot_be_given_to_another(reopen: Open):
    state = reopen()
    state.put("env_a", "site_a", Spec("one"), Secrets("of a"))
    state.put("env_b", "site_b", Spec("one"), Secrets("of b"))
    state._database.execute(  # what somebody who can write to the disk would do
        "update environments set sealed = (select sealed from environments where environment = 'env_a')"
    )
    with pytest.raises(SecretsUnreadable):
        state.find("env_b")


def test_every_environment_has_a_range_of_users_of_its_own_and_keeps_it(reopen: Open):
    state = reopen()
    for name in ("env_a", "env_b", "env_c"):
        state.put(name, "site", Spec("one"), Secrets("x"))
    state.put("env_b", "site", Spec("two"), Secrets("x"))
    assert _slots(state) == {"env_a": FIRST_SLOT, "env_b": FIRST_SLOT + 1, "env_c": FIRST_SLOT + 2}
    state.remove("env_b")
    state.put("env_d", "site", Spec("one"), Secrets("x"))
    assert _slots(state) == {"env_a": FIRST_SLOT, "env_c": FIRST_SLOT + 2, "env_d": FIRST_SLOT + 1}


def test_a_suspended_environment_stays_suspended_until_it_is_wanted_again(reopen: Open):
    state = reopen()
    state.put("env_a", "site", Spec("one"), Secrets("x"))
    state.set_suspended("env_a", suspended=True)
    found = reopen().find("env_a")
    assert found is not None
    assert found.suspended
    state.put("env_a", "site", Spec("one"), Secrets("x"))
    again = state.find("env_a")
    assert again is not None
    assert not again.suspended


def _slots(state: State) -> dict[str, int]:
    found = (state.find(name) for name in state.names())
    return {each.environment: each.slot for each in found if each}


def test_what_all_environments_should_be_is_read_from_the_disk_once(reopen: Open):
    """Every heartbeat asks for it."""
    state = reopen()
    for name in ("env_a", "env_b"):
        state.put(name, "site_a", Spec("one"), Secrets("hidden"))
    state.specs()
    state.put("env_a", "site_a", Spec("two"), Secrets("hidden"))
    state.put("env_c", "site_a", Spec("one"), Secrets("hidden"))
    state.remove("env_b")
    statements: list[str] = []
    state._database.set_trace_callback(statements.append)
    assert state.specs() == {"env_a": Spec("two"), "env_c": Spec("one")}
    assert statements == []
    assert reopen().specs() == state.specs()
