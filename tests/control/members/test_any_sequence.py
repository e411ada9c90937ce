"""Whatever people do to a team, in any order and at once: it keeps an owner, and ranks are kept."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests.client import Client
from tests.control.members.crowd import Crowd, Member, Sent, gather_crowd

SIZE = 4
PEOPLE = st.integers(min_value=0, max_value=SIZE - 1)
ROLES = st.sampled_from([Role.OWNER, Role.ADMIN, *Role])
ENDS = st.sampled_from([None, None, 1, 5])
Act = Callable[[Crowd], Coroutine[Any, Any, httpx.Response]]
STEPS = settings(
    max_examples=50,
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(
        lambda a, b, role, end: lambda crowd: crowd.add(crowd.people[a], crowd.people[b], role, end),
        *(PEOPLE, PEOPLE, ROLES, ENDS),
    ),
    st.builds(
        lambda a, b, role, end: lambda crowd: crowd.update(crowd.people[a], crowd.people[b], role, end),
        *(PEOPLE, PEOPLE, ROLES, ENDS),
    ),
    st.builds(lambda a, b: lambda crowd: crowd.remove(crowd.people[a], crowd.people[b]), PEOPLE, PEOPLE),
    st.builds(lambda a: lambda crowd: crowd.choose_default(crowd.people[a]), PEOPLE),
)


class Memberships(RuleBasedStateMachine):
    crowd: Crowd

    @initialize(roles=st.lists(ROLES, max_size=SIZE - 2))
    def found(self, roles: list[Role]) -> None:
        self.crowd.do(self.crowd.found())
        founder, *others = self.crowd.people
        for whom, role in zip(others, roles, strict=False):
            self.crowd.do(self.crowd.add(founder, whom, role, None))
        self.sent: list[Sent] = []

    def now(self) -> dict[str, Member]:
        return self.crowd.do(self.crowd.members())

    def _actor(self, a: int, able: bool, before: dict[str, Member]) -> str:
        """Anybody, or one of those who may do something: or most of what is tried would be refused."""
        if not able:
            return self.crowd.people[a]
        those = sorted(who for who, member in before.items() if member.role.is_at_least(Role.ADMIN))
        return those[a % len(those)]

    def _was_allowed(self, before: dict[str, Member], actor: str, whom: str, role: Role | None) -> None:
        """A change went through: one's own going, or an administrator's, and nothing above the actor."""
        assert actor in before, "somebody outside the team changed it"
        mine, theirs = before[actor].role, before.get(whom)
        if actor != whom or role is not None:
            assert mine.is_at_least(Role.ADMIN)
        assert theirs is None or mine.is_at_least(theirs.role), "a member above the actor was changed"
        assert role is None or mine.is_at_least(role), "somebody was raised above the one who did it"

    @rule(a=PEOPLE, able=st.booleans(), b=PEOPLE, role=ROLES, days=ENDS)
    def add(self, a: int, able: bool, b: int, role: Role, days: int | None) -> None:
        before = self.now()
        actor, whom = self._actor(a, able, before), self.crowd.people[b]
        if self.crowd.do(self.crowd.add(actor, whom, role, days)).status_code == 204:
            self._was_allowed(before, actor, whom, role)
            assert whom not in before
            assert self.now()[whom].role == role

    @rule(a=PEOPLE, able=st.booleans(), b=PEOPLE, role=ROLES, days=ENDS)
    def update(self, a: int, able: bool, b: int, role: Role, days: int | None) -> None:
        before = self.now()
        actor, whom = self._actor(a, able, before), self.crowd.people[b]
        if self.crowd.do(self.crowd.update(actor, whom, role, days)).status_code == 204:
            self._was_allowed(before, actor, whom, role)
            assert whom in before

    @rule(a=PEOPLE, able=st.booleans(), b=PEOPLE)
    def remove(self, a: int, able: bool, b: int) -> None:
        before = self.now()
        actor, whom = self._actor(a, able, before), self.crowd.people[b]
        if self.crowd.do(self.crowd.remove(actor, whom)).status_code == 204:
            self._was_allowed(before, actor, whom, None)
            assert whom not in self.now()

    @rule(a=PEOPLE, role=ROLES, days=ENDS)
    def change_oneself(self, a: int, role: Role, days: int | None) -> None:
        before = self.now()
        me = self._actor(a, True, before)
        if self.crowd.do(self.crowd.update(me, me, role, days)).status_code == 204:
            self._was_allowed(before, me, me, role)

    @rule(a=PEOPLE)
    def leave(self, a: int) -> None:
        me, before = self.crowd.people[a], self.now()
        answer = self.crowd.do(self.crowd.remove(me, me))
        owners = {who for who, member in before.items() if member == Member(Role.OWNER, None)}
        may = me in before and owners != {me}
        assert answer.status_code == (204 if may else 409 if me in before else 404)

    @rule(a=PEOPLE, able=st.booleans(), role=ROLES)
    def invite(self, a: int, able: bool, role: Role) -> None:
        before = self.now()
        actor = self._actor(a, able, before)
        answer = self.crowd.do(self.crowd.invite(actor, role))
        if answer.status_code == 201:
            self._was_allowed(before, actor, "", role)
            self.sent.append(Sent(answer.json()["data"]["token"], role, actor))

    @rule(a=PEOPLE, data=st.data())
    def accept(self, a: int, data: st.DataObject) -> None:
        if not self.sent:
            return
        sent = data.draw(st.sampled_from(self.sent))
        before = self.now()
        outside = [who for who in self.crowd.people if who not in before] or self.crowd.people
        actor = outside[a % len(outside)]
        if self.crowd.do(self.crowd.accept(actor, sent)).status_code == 200:
            self.sent.remove(sent)
            assert actor not in before
            assert sent.by in before, "the inviter is no longer in the team"
            assert before[sent.by].role.is_at_least(sent.role), "the inviter now has less than was given"

    @rule(a=PEOPLE)
    def choose_default(self, a: int) -> None:
        actor, before = self.crowd.people[a], self.now()
        answer = self.crowd.do(self.crowd.choose_default(actor))
        assert answer.status_code == (204 if actor in before else 422)

    @rule(hours=st.sampled_from([1, 23, 25, 24 * 6]))
    def wait(self, hours: int) -> None:
        if self.crowd.clock.ahead < timedelta(days=300):
            self.crowd.clock.move(timedelta(hours=hours))

    @rule(one=ACTS, two=ACTS)
    def at_once(self, one: Act, two: Act) -> None:
        async def both() -> list[httpx.Response]:
            return list(await asyncio.gather(one(self.crowd), two(self.crowd)))

        assert all(answer.status_code < 500 for answer in self.crowd.do(both()))

    @invariant()
    def a_lasting_owner_remains(self) -> None:
        assert Member(Role.OWNER, None) in self.now().values()


async def test_no_sequence_of_changes_breaks_a_team(
    plane: ControlPlane, clock: MovableClock, anonymous: Client
):
    crowd = await gather_crowd(plane, clock, anonymous, SIZE)
    machine = type("OneCrowd", (Memberships,), {"crowd": crowd})
    await asyncio.to_thread(run_state_machine_as_test, machine, settings=STEPS)


async def _two_owners(crowd: Crowd) -> tuple[str, str]:
    await crowd.found()
    one, two, *_ = crowd.people
    assert (await crowd.add(one, two, Role.OWNER, None)).status_code == 204
    return one, two


@pytest.mark.parametrize(
    "act",
    [
        lambda crowd, me, _: crowd.remove(me, me),
        lambda crowd, me, other: crowd.remove(me, other),
        lambda crowd, me, _: crowd.update(me, me, Role.OBSERVER, None),
        lambda crowd, me, other: crowd.update(me, other, Role.ADMIN, None),
        lambda crowd, me, _: crowd.update(me, me, Role.OWNER, 1),
        lambda crowd, me, other: crowd.update(me, other, Role.OWNER, 1),
    ],
    ids=["leave", "remove the other", "step down", "demote the other", "expire", "expire the other"],
)
async def test_of_two_owners_who_do_it_at_once_one_remains(
    act: Callable[..., Coroutine[Any, Any, httpx.Response]],
    plane: ControlPlane,
    clock: MovableClock,
    anonymous: Client,
):
    crowd = await gather_crowd(plane, clock, anonymous, 2)
    for _ in range(15):
        one, two = await _two_owners(crowd)
        answers = await asyncio.gather(act(crowd, one, two), act(crowd, two, one))
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses[0] == 204
        assert statuses[1] in (403, 404, 409), [answer.text for answer in answers]
        assert Member(Role.OWNER, None) in (await crowd.members()).values()
