"""The versions of a site take a limited part of the disk of their node."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from stead.node.functions import disk_share, places
from stead.node.functions.disk_share import ShareExceeded, choose_discarded
from stead.node.functions.driver import prepare_directories
from stead.node.functions.spec import FunctionSpec
from stead.shared.ids import new_id
from tests.node.functions.test_log_files import SPEC


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The share of production would need many files."""
    monkeypatch.setattr(disk_share, "MAX_BYTES_OF_SITE", 4_000)
    prepare_directories(tmp_path)
    return tmp_path


def _version(
    home: Path, function: str, deployed: int, *, active: bool = False, site: str = "site_a", size: int = 1000
) -> FunctionSpec:
    spec = replace(
        SPEC,
        site=site,
        function=function,
        version=new_id("fnv"),
        release=new_id("rel"),
        deployed=deployed,
        active=active,
    )
    module = places.module_file(home, spec.release)
    module.parent.mkdir(parents=True)
    for file, part in ((module, size // 4), (places.compiled(home, spec.version), size - size // 4)):
        file.touch()
        os.truncate(file, part)
    return spec


def test_the_oldest_versions_that_are_not_served_make_room(home: Path) -> None:
    served = _version(home, "fn_a", 1, active=True)
    earlier = [_version(home, "fn_a", 2), _version(home, "fn_b", 3)]
    stranger = _version(home, "fn_c", 0, site="site_b", size=100_000)
    new = _version(home, "fn_c", 5, size=900)
    every = [served, *earlier, stranger, new]
    assert choose_discarded(home, every, new) == []
    larger = _version(home, "fn_c", 6, size=2000)
    assert choose_discarded(home, [*every, larger], larger) == [each.version for each in earlier]


def test_the_version_that_is_replaced_stays(home: Path) -> None:
    """While edges still send requests to it."""
    before, after = _version(home, "fn_a", 1, size=2000), _version(home, "fn_a", 2, active=True, size=1500)
    other = _version(home, "fn_b", 3, size=600)
    assert choose_discarded(home, [before, after, other], after) == [other.version]


def test_what_is_too_large_without_earlier_versions_is_refused(home: Path) -> None:
    served = [_version(home, f"fn_{number}", number, active=True) for number in range(4)]
    new = _version(home, "fn_9", 9, size=1)
    with pytest.raises(ShareExceeded):
        choose_discarded(home, [*served, new], new)
