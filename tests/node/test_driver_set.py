"""Work goes to the drivers that declare it; work that no driver declares is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.driver_set import DriverSet
from stead.node.drivers.simulation import SimulatedBehaviour
from stead.node.drivers.simulator import simulated_drivers
from stead.node.processes import Processes
from stead.protocol.commands import Result, encode, read_result, result_of
from stead.protocol.work.base import tag_of
from stead.protocol.work.builds import ArchiveSource, Build, BuildResult
from stead.protocol.work.hosting import EnsureEnvironment, EnsureRoute, Probe, RemoveEnvironment
from stead.protocol.work.kinds import Work, WorkResult
from stead.shared.runtimes import RUNTIMES
from tests.node.driver_pairs import new_assignment

BUILD = Build("static", ArchiveSource("https://example.com/site.tar"), "https://store.example.com/layer")
BUILT = BuildResult("sha256:1", 2, "sha256:3", 4, 5)


class Recording(Driver):
    """Records its work, and returns the result that the test gives."""

    def __init__(self, *kinds: tuple[type, str], result: WorkResult | None = None) -> None:
        self._kinds, self._result, self.done = kinds, result, list[str]()

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(kind, self.handle, (variant,)) for kind, variant in self._kinds]

    async def handle(self, _: Assignment, work: Work) -> WorkResult | None:
        self.done.append(tag_of(type(work)))
        return self._result


async def test_work_goes_to_the_driver_of_its_variant() -> None:
    cms = Recording((EnsureEnvironment, "cms"), (RemoveEnvironment, ""))
    static = Recording((EnsureEnvironment, "static"), (RemoveEnvironment, ""))
    drivers = DriverSet([cms, static])
    await drivers.perform(EnsureEnvironment("static"), new_assignment())
    assert (cms.done, static.done) == ([], ["ensure_environment"])
    await drivers.perform(RemoveEnvironment(), new_assignment())
    assert (cms.done, static.done) == (
        ["remove_environment"],
        ["ensure_environment", "remove_environment"],
    ), "an environment is removed whatever its runtime was"


async def test_a_result_is_of_the_type_that_its_kind_of_work_declares() -> None:
    assert (
        await DriverSet([Recording((Build, "static"), result=BUILT)]).perform(BUILD, new_assignment())
        == BUILT
    )
    with pytest.raises(TypeError):
        await DriverSet([Recording((Build, "static"))]).perform(BUILD, new_assignment())
    with pytest.raises(TypeError):
        await DriverSet([Recording((Probe, ""), result=BUILT)]).perform(
            Probe("www.example.com"), new_assignment()
        )


def test_two_drivers_cannot_return_the_result_of_the_same_work() -> None:
    with pytest.raises(TypeError):
        DriverSet([Recording((Build, "static")), Recording((Build, "static"))])


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (EnsureEnvironment("cms"), "runtime.unsupported"),
        (EnsureRoute(("www.example.com",)), "route.unsupported"),
        (BUILD, "build.unavailable"),
        (Probe("www.example.com"), "work.unsupported"),
    ],
)
async def test_work_without_a_driver_is_refused(work: Work, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        await DriverSet([Recording((EnsureEnvironment, "static"))]).perform(work, new_assignment())
    assert refused.value.code == code


def test_the_simulator_supports_all_work_of_all_runtimes(tmp_path: Path) -> None:
    drivers = DriverSet(simulated_drivers(tmp_path, Processes("test").run, SimulatedBehaviour()))
    assert set(drivers.work) == {tag_of(kind) for kind in get_args(Work)}
    assert set(drivers.runtimes) == set(RUNTIMES)


def test_a_result_that_cannot_be_read_does_not_hide_the_outcome() -> None:
    whole = Result("here", "job_1", "build", 1, "done", value=BUILT)
    assert read_result(encode(whole)) == whole
    damaged = encode(whole).replace(encode("digest"), encode("digits"))
    assert read_result(damaged) == Result("here", "job_1", "build", 1, "done")


def test_the_control_plane_accepts_only_the_declared_result() -> None:
    result = Result("here", "job_1", "build", 1, "done", value=BUILT)
    assert result_of(BUILD, result) == BUILT
    assert result_of(Probe("www.example.com"), result) is None
