"""Whatever jobs there are and in whatever order they end: what `claim` promises holds after every claim."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.control.jobs.queue_harness import QueueHarness

OWNERS, SITES, ENVS = 3, 4, 2
SOME = settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@dataclass(frozen=True)
class Place:
    """A site, by number, and an environment of it or all of them."""

    site: int
    env: int | None

    def excludes(self, other: "Place") -> bool:
        return self.site == other.site and (self.env is None or other.env is None or self.env == other.env)


PLACES = st.builds(Place, st.integers(0, SITES - 1), st.none() | st.integers(0, ENVS - 1))
CAPS = st.lists(st.integers(1, 3), min_size=OWNERS, max_size=OWNERS)
OF_OWNER = st.lists(st.integers(0, OWNERS - 1), min_size=SITES, max_size=SITES)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), PLACES),
        st.tuples(st.just("claim"), st.integers(1, 6)),
        st.tuples(st.just("end"), st.integers(0, 9)),
    ),
    max_size=25,
)


@dataclass
class Model:
    caps: list[int]
    of_owner: list[int]
    waiting: dict[str, Place] = field(default_factory=dict)
    under_way: dict[str, Place] = field(default_factory=dict)

    def owner(self, place: Place) -> int:
        return self.of_owner[place.site]

    def running(self, owner: int) -> int:
        return sum(self.owner(place) == owner for place in self.under_way.values())

    def is_free(self, job: str) -> bool:
        """Nothing that came before it is in its way."""
        before = [
            *self.under_way.items(),
            *((id_, place) for id_, place in self.waiting.items() if id_ < job),
        ]
        return not any(place.excludes(self.waiting[job]) for _, place in before)

    def claimable(self) -> list[str]:
        return [
            job
            for job, place in self.waiting.items()
            if self.is_free(job) and self.running(self.owner(place)) < self.caps[self.owner(place)]
        ]

    def take(self, claimed: set[str], most: int) -> None:
        could = self.claimable()
        assert claimed <= self.waiting.keys(), "only what waits is claimed"
        assert len(claimed) <= most
        for job in claimed:
            assert self.is_free(job), "whatever came before on its lock comes first"
        for job in claimed:
            self.under_way[job] = self.waiting.pop(job)
        for owner, cap in enumerate(self.caps):
            assert self.running(owner) <= cap, "nobody is above the cap"
        places = list(self.under_way.values())
        assert not any(a.excludes(b) for n, a in enumerate(places) for b in places[:n]), (
            "two exclude each other"
        )
        if could:
            assert claimed, "what can run is not left lying"
        if len(claimed) < most:
            assert self.claimable() == [], "what can run is not left lying while there is room"


async def _claim(job_queue: QueueHarness, model: Model, most: int) -> None:
    model.take(await job_queue.claim(most), most)


@SOME
@given(
    caps=CAPS,
    of_owner=OF_OWNER,
    first=st.lists(PLACES, max_size=10),
    acts=ACTS,
)
async def test_caps_exclusion_and_order_always_hold_and_nobody_starves(
    shared_queue: QueueHarness,
    caps: list[int],
    of_owner: list[int],
    first: list[Place],
    acts: list[tuple[str, object]],
):
    await shared_queue.clear()
    model = Model(caps, of_owner)
    owners = [await shared_queue.owner(cap, team=n % 2 == 1) for n, cap in enumerate(caps)]
    sites = [await shared_queue.site(owners[owner]) for owner in of_owner]

    async def add(place: Place) -> None:
        env = None if place.env is None else f"env_{place.env}"
        model.waiting[await shared_queue.job(sites[place.site], owners[model.owner(place)], env)] = place

    for place in first:
        await add(place)
    for act, with_ in acts:
        if isinstance(with_, Place):
            await add(with_)
        elif act == "claim":
            await _claim(shared_queue, model, int(str(with_)))
        elif model.under_way:
            ending = sorted(model.under_way)[int(str(with_)) % len(model.under_way)]
            await shared_queue.end(ending)
            del model.under_way[ending]
    for _ in range(len(model.waiting) + len(model.under_way)):
        await shared_queue.end(*model.under_way)
        model.under_way.clear()
        await _claim(shared_queue, model, 2)
    assert not model.waiting, "everybody's turn comes"
