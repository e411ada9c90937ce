"""The record store: batches commit with their position, and deletions stay until nginx knows about them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.node.feed.record_store import RecordChange, RecordStore, peer_addresses, referenced_releases
from stead.protocol.edge_records import DELETIONS_KEPT_SECONDS, PURGES_KEPT_SECONDS

NOW = 1_800_000_000
MUCH = 1 << 30
KINDS = ("purge", "node", "environment", "host", "certificate", "complete")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "edge.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[RecordStore]:
    it = RecordStore(path)
    it.begin_history("history 1")
    yield it
    it.close()


def change(key: str, revision: int, value: bytes | None = b"{}", at: int = NOW) -> RecordChange:
    return RecordChange(f"us-east.{key}", revision, at * 1_000_000_000, value)


def untold(store: RecordStore, after: int = 0) -> list[tuple[str, int, bytes | None]]:
    return [(it.key, it.revision, it.value) for it in store.pending_after(after, 1_000, MUCH).records]


def test_a_batch_that_fails_changes_neither_records_nor_position(store: RecordStore) -> None:
    store.apply([change("host.a", 1)], last=True)
    broken = RecordChange("us-east.host.c", 3, NOW, "not bytes")  # type: ignore[arg-type]
    with pytest.raises(sqlite3.Error):
        store.apply([change("host.b", 2), broken], last=True)
    assert untold(store) == [("us-east.host.a", 1, b"{}")]
    assert store.progress.position == 1


def test_another_process_reads_the_position_and_the_records(store: RecordStore, path: Path) -> None:
    store.apply([change("host.a", 7), change("host.b", 9)], last=True)
    again = RecordStore(path)
    try:
        assert again.progress.position == 9
        assert len(untold(again)) == 2
    finally:
        again.close()


def test_a_record_that_changed_twice_is_sent_once_with_its_last_change(store: RecordStore) -> None:
    store.apply([change("host.a", 1), change("host.b", 2), change("host.a", 3, b"[]")], last=True)
    assert untold(store) == [("us-east.host.b", 2, b"{}"), ("us-east.host.a", 3, b"[]")]


def test_a_deleted_record_is_sent_and_then_removed(store: RecordStore) -> None:
    store.apply([change("host.a", 1), change("host.a", 2, None)], last=True)
    assert store.find("us-east.host.a") is None
    batch = store.pending_after(0, 1_000, MUCH)
    assert untold(store) == [("us-east.host.a", 2, None)]
    store.remove_deleted(batch.change)
    assert untold(store) == []


def test_a_batch_for_nginx_is_limited_by_number_and_by_size(store: RecordStore) -> None:
    store.apply([change(f"host.h{n}", n, b"x" * 10) for n in range(1, 11)], last=True)
    by_number = store.pending_after(0, 4, MUCH)
    assert ([it.revision for it in by_number.records], by_number.complete) == ([1, 2, 3, 4], False)
    by_size = store.pending_after(by_number.change, 1_000, 25)
    assert ([it.revision for it in by_size.records], by_size.complete) == ([5, 6, 7], False)
    rest = store.pending_after(by_size.change, 1_000, MUCH)
    assert ([it.revision for it in rest.records], rest.complete) == ([8, 9, 10], True)
    exactly = store.pending_after(by_size.change, 3, MUCH)
    assert exactly.complete


def test_a_new_history_deletes_unconfirmed_records_at_its_end(store: RecordStore) -> None:
    store.apply([change("host.a", 1), change("host.b", 2), change("host.c", 3)], last=True)
    told = store.pending_after(0, 1_000, MUCH).change
    store.begin_history("history 2")
    assert store.progress.position == 0
    store.apply([change("host.a", 101)], last=False)
    assert store.find("us-east.host.b") is not None
    assert not store.pending_after(told, 1_000, MUCH).caught_up
    store.apply([change("host.c", 102)], last=True)
    assert store.find("us-east.host.b") is None
    assert store.pending_after(told, 1_000, MUCH).caught_up
    assert untold(store, told) == [
        ("us-east.host.a", 101, b"{}"),
        ("us-east.host.c", 102, b"{}"),
        ("us-east.host.b", 102, None),
    ]


def test_an_empty_history_deletes_everything(store: RecordStore) -> None:
    store.apply([change("host.a", 1)], last=True)
    told = store.pending_after(0, 1_000, MUCH).change
    store.begin_history("history 2")
    store.apply([], last=True)
    assert untold(store, told) == [("us-east.host.a", 2, None)]


def test_purges_expire_with_the_bucket(store: RecordStore) -> None:
    store.apply([change("purge.env_1.all", 1), change("host.a", 2)], last=True)
    assert store.expire_purges(now=NOW + PURGES_KEPT_SECONDS - 1) == 0
    assert store.expire_purges(now=NOW + PURGES_KEPT_SECONDS + 1) == 1
    assert store.find("us-east.purge.env_1.all") is None
    assert store.find("us-east.host.a") is not None


def test_a_store_without_news_for_a_long_time_is_outdated(store: RecordStore) -> None:
    assert not store.is_outdated(now=NOW)
    store.apply([change("host.a", 1)], last=True)
    assert not store.is_outdated(now=NOW + DELETIONS_KEPT_SECONDS / 2 - 1)
    assert store.is_outdated(now=NOW + DELETIONS_KEPT_SECONDS / 2 + 1)


def test_only_keys_with_the_prefix_are_found(store: RecordStore) -> None:
    keys = ("redirects.site_1.0", "redirects.site_1.1", "redirects.site_10.0", "redirects.site_1")
    store.apply([change(key, number) for number, key in enumerate(keys, 1)], last=True)
    found = [it.key for it in store.find_by_prefix("us-east.redirects.site_1.")]
    assert found == ["us-east.redirects.site_1.0", "us-east.redirects.site_1.1"]


def test_only_the_owner_can_read_the_database(store: RecordStore, path: Path) -> None:
    store.apply([change("host.a", 1)], last=True)
    files = list(path.parent.glob("edge.sqlite*"))
    assert len(files) == 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_the_kind_of_a_record_is_the_second_word_of_its_key(store: RecordStore, path: Path) -> None:
    """A customer's host may contain the name of any kind."""
    names = [f"{kind}.{word}.example.com" for kind in ("host", "certificate") for word in KINDS]
    own = [change(name, number, b'{"environment": "env_a"}') for number, name in enumerate(names, 1)]
    peer = change("node.b", 90, b'{"address": "192.0.2.7:80"}')
    environment = change("environment.env_a", 91, b'{"site": "s", "node": "b", "release": "r1"}')
    purge = change("purge.env_a.all", 92, b'{"environment": "env_a"}')
    store.apply([*own, peer, environment, purge], last=True)
    assert peer_addresses(path) == ["192.0.2.7:80"]
    assert referenced_releases(path) == {"r1"}
    assert store.expire_purges(now=NOW + PURGES_KEPT_SECONDS + 1) == 1
    assert all(store.find(f"us-east.{name}") for name in names)
    store.begin_history("history 2")
    store.apply([change("environment.env_a", 1, b'{"site": "s", "node": "b", "release": "r1"}')], last=True)
    assert not any(store.find(f"us-east.{name}") for name in names)
    assert store.find("us-east.node.b")
