"""The hashes of releases are kept as they were when the release came."""

import hashlib
import shutil
from pathlib import Path

from stead.node.scanning.release_checksums import ReleaseChecksums


def test_the_list_of_a_release_stays_as_it_was_and_ends_with_it(tmp_path: Path) -> None:
    releases, home = tmp_path / "releases", tmp_path / "lists"
    for name in ("one", "two"):
        (releases / name / "web" / "app" / "plugins").mkdir(parents=True)
        (releases / name / "web" / "app" / "plugins" / "a.php").write_bytes(name.encode())
        (releases / name / "stead-release.json").write_bytes(b"{}")
    checksums = ReleaseChecksums(home, releases)
    checksums.record("one")
    (releases / "one" / "web" / "app" / "plugins" / "a.php").write_bytes(b"changed")
    expected = {(b"plugins", b"a.php"): hashlib.sha256(b"one").digest()}
    assert ReleaseChecksums(home, releases).read("one", "web/app") == expected
    assert checksums.read("one", "web/ap") == {}
    shutil.rmtree(releases / "one")
    # One that came before there were lists is recorded when it is scanned.
    assert list(checksums.read("two", "web/app")) == [(b"plugins", b"a.php")]
    assert [file.name for file in home.iterdir()] == ["two"]
