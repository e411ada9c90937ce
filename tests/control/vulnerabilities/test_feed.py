"""Feeds are read piece by piece; one that is broken anywhere is refused as a whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from stead.control.vulnerabilities import feed
from stead.control.vulnerabilities.rules import FeedBroken


def record(id_: str, slug: str = "shop-kit", **fields: Any) -> dict[str, Any]:
    software = {
        "type": "plugin",
        "name": "Shop Kit",
        "slug": slug,
        "affected_versions": {
            "* - 1.2.3": {
                "from_version": "*",
                "from_inclusive": True,
                "to_version": "1.2.3",
                "to_inclusive": True,
            }
        },
        "patched": True,
        "patched_versions": ["1.2.4"],
        "remediation": "Update",
    }
    return {
        "id": id_,
        "title": f"A record {id_} “quoted” \\ }}{{",
        "software": [software],
        "references": [f"https://www.wordfence.com/{id_}"],
        "copyrights": {"message": "m", "defiant": {"notice": "n", "license": "l", "license_url": "u"}},
        "cvss": {"vector": "", "score": 9.8, "rating": "Critical"},
        "cve": "CVE-2026-1",
        **fields,
    }


def read(path: Path) -> list[str]:
    with feed.opened(str(path), "") as copy:
        found = list(feed.read_records(copy))
    if unreadable := [each for each in found if isinstance(each, feed.Unreadable)]:
        raise FeedBroken(unreadable[0].reason)
    return [each[0].id for each in found if not isinstance(each, feed.Unreadable)]


def test_a_feed_larger_than_the_buffer_is_read_completely(tmp_path: Path) -> None:
    records = {f"r{number}": record(f"r{number}", description="ü" * 2000) for number in range(1500)}
    (tmp_path / "feed.json").write_text(json.dumps(records, ensure_ascii=False, indent=1))
    assert (tmp_path / "feed.json").stat().st_size > 3 << 20
    assert read(tmp_path / "feed.json") == list(records)


def test_an_empty_list_of_copyrights_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "feed.json").write_text(json.dumps({"a": record("a", copyrights=[])}))
    assert read(tmp_path / "feed.json") == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "<html>Too many requests</html>",
        '{"a": ',
        '{"a": {}}',
        '{"a": 5}',
        json.dumps({"a": record("a"), "b": record("b")})[:-40],
        json.dumps({"a": record("a", software="all")}),
    ],
)
def test_a_feed_that_is_broken_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "feed.json").write_text(text)
    with pytest.raises(FeedBroken):
        read(tmp_path / "feed.json")


def test_a_feed_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FeedBroken):
        read(tmp_path / "feed.json")


def test_records_that_cannot_be_read_are_told_from_the_others(tmp_path: Path) -> None:
    """PHP writes empty objects as lists. PostgreSQL stores neither a NUL nor half of a character."""
    empty = record("empty")
    empty["software"][0]["affected_versions"] = []
    records = {
        "empty": empty,
        "nul": record("nul", title="a\0b"),
        "half": record("half", title="a\ud800b"),
        "escaped": record("escaped", title="a\\u0000b"),
        "other": {"id": "other"},
    }
    (tmp_path / "feed.json").write_text(json.dumps(records))
    with feed.opened(str(tmp_path / "feed.json"), "") as copy:
        found = list(feed.read_records(copy))
    unreadable = [each.id for each in found if isinstance(each, feed.Unreadable)]
    assert unreadable == ["nul", "half", "other"]
    assert [each[0].id for each in found if not isinstance(each, feed.Unreadable)] == ["empty", "escaped"]
