"""The worlds that the matrix is run in."""

import pytest
from argon2 import PasswordHasher

from stead.control.accounts import passwords
from stead.control.app import ControlPlane
from tests.matrix.worlds import Worlds


@pytest.fixture(scope="module")
def worlds(plane: ControlPlane) -> Worlds:
    return Worlds(plane.database)


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
