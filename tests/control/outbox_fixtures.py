"""Fixtures for tests of events, notifications and webhooks."""

from collections.abc import AsyncIterator

import pytest

from stead.control.settings import Settings
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.clock import MovableClock
from tests.outbox import Outbox, outbox_of


@pytest.fixture(scope="package")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="package")
async def outbox(
    settings: Settings,
    worker_id: str,
    authority: CertificateAuthority,
    clock: MovableClock,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Outbox]:
    """Uses a database of its own, because a sequencer processes every event it finds."""
    feature = request.path.parent.name
    async with outbox_of(settings, f"stead_{feature}_{worker_id}", authority, clock) as made:
        yield made
