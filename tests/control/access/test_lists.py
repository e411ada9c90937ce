"""Nodes get the list of who may enter, whatever happens to them and to environments."""

from collections import Counter
from datetime import timedelta

import pytest

from stead.control.access import lists, service, store
from stead.control.access.publisher import MAX_SENDING, MAX_SENDING_TO_NODE, REFUSED_AFTER, RETRY_AFTER
from stead.control.accounts.administration import set_suspension
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import NotYet, Refused
from stead.control.nodes.rules import LOST_AFTER
from stead.shared.clock import MovableClock
from tests import teams
from tests.conftest import NewPerson
from tests.control.access.conftest import EnteredSite, Nodes, NodeTable
from tests.control.access.keys import new_public_key


async def _require_delivered(site: EnteredSite) -> None:
    async with site.owner.transaction() as tx:
        await service.require_delivered(tx, site.id)


async def _hear(site: EnteredSite, node: NodeTable) -> None:
    await site.run("update nodes set last_seen_at = $2 where id = $1", node.name, site.nodes.clock())


async def test_the_job_ends_when_every_live_node_has_the_list(
    entered_site: EnteredSite, clock: MovableClock
) -> None:
    site = entered_site
    assert (await site.replace_keys(site.owner.session, new_public_key())).status_code == 202
    with pytest.raises(NotYet):
        await _require_delivered(site)
    site.node.is_away = True
    await site.nodes.publish()
    with pytest.raises(NotYet):
        await _require_delivered(site)
    # A lost node is not waited for.
    clock.ahead += LOST_AFTER
    await _require_delivered(site)

    # It gets the current list when it is back.
    latest = new_public_key()
    assert (await site.replace_keys(site.owner.session, latest)).status_code == 202
    site.node.is_away = False
    await site.nodes.publish()
    assert site.authorize(latest) is None, "nothing is sent to a node that is lost"
    await _hear(site, site.node)
    await site.nodes.publish()
    assert site.authorize(latest) is not None
    await _require_delivered(site)
    sent = len(site.node.received)
    await site.nodes.publisher.compare_all()
    await site.nodes.publish()
    assert len(site.node.received) == sent, "a list that has not changed is not sent again"


async def test_a_suspended_account_enters_no_site_until_the_suspension_ends(
    entered_site: EnteredSite, new_person: NewPerson
) -> None:
    site, member = entered_site, await new_person()
    await site.add_member(member)
    own, _ = await site.enter(site.owner.session)
    theirs, _ = await site.enter(member.session)
    for reason, is_open in (("It sends spam.", False), (None, True)):
        async with site.owner.transaction() as tx:
            await set_suspension(tx, member.id, reason)
        await site.nodes.publish()
        assert (site.authorize(theirs) is not None) == is_open
        assert site.authorize(own) is not None, "others are not affected"
        assert len(await site.list_keys()) == 2, "nothing is deleted"


async def test_a_node_that_refuses_is_asked_again_later(
    entered_site: EnteredSite, clock: MovableClock
) -> None:
    site = entered_site
    key = new_public_key()
    assert (await site.replace_keys(site.owner.session, key)).status_code == 202
    site.node.refuses = True
    await site.nodes.publish()
    with pytest.raises(Refused) as refused:
        await _require_delivered(site)
    assert refused.value.code == "node.outdated"
    site.node.refuses = False
    clock.ahead += REFUSED_AFTER
    await _hear(site, site.node)
    await site.nodes.publish()
    assert site.authorize(key) is not None
    first, second = (command.step for command in site.node.received)
    assert first != second, "the journal of the node would repeat its refusal"
    await _require_delivered(site)


async def test_an_answer_that_was_lost_is_asked_for_again(
    entered_site: EnteredSite, clock: MovableClock
) -> None:
    site = entered_site
    key = new_public_key()
    assert (await site.replace_keys(site.owner.session, key)).status_code == 202
    site.node.is_away = True
    await site.nodes.publish()
    site.node.is_away = False
    await site.nodes.publish()
    assert site.authorize(key) is None, "not before the time for an answer is over"
    clock.ahead += RETRY_AFTER
    await site.nodes.publish()
    assert site.authorize(key) is not None


async def test_a_list_follows_its_environment_to_another_node(
    entered_site: EnteredSite, nodes: Nodes, clock: MovableClock
) -> None:
    site, former = entered_site, entered_site.node
    key, admission = await site.enter(site.owner.session)
    # The node is lost, and its environments move.
    former.is_away = True
    clock.ahead += LOST_AFTER + timedelta(seconds=1)
    # In a region of its own, so that no other test has environments there.
    site.node = await nodes.add("node-2", "nowhere")
    await site.run("update environments set node_id = 'node-2' where id = $1", site.env)
    await nodes.publish()
    assert site.authorize(key) is not None
    assert former.table.still_holds(admission)
    # The former node comes back with an outdated list, which is taken away.
    former.is_away = False
    await _hear(site, former)
    await nodes.publish()
    assert not former.table.still_holds(admission)
    assert former.table.authorize(site.user, b"") is None
    # Nothing is left to be done for it.
    await nodes.publisher.compare_all()
    await nodes.publish()
    async with site.owner.transaction() as tx:
        left = await tx.all(str, "select node_id from access_lists where site_id = $1", site.id)
    assert left == ["node-2"]
    # And back again.
    await site.run("update environments set node_id = 'node-1' where id = $1", site.env)
    await nodes.publish()
    assert site.node.table.authorize(site.user, b"") is None
    site.node = former
    assert site.authorize(key) is not None


async def test_every_environment_has_a_name_of_its_own_and_the_keys_of_the_site(
    entered_site: EnteredSite, nodes: Nodes
) -> None:
    site = entered_site
    key, _ = await site.enter(site.owner.session)
    async with site.owner.transaction() as tx:
        staging = await teams.insert_environment(tx, site.id)
        await tx.run("update environments set node_id = 'node-1' where id = $1", staging)
        subdomain = await tx.value("select subdomain from environments where id = $1", staging)
    await nodes.publish()
    admission = site.authorize(key, user=subdomain.partition(".")[0])
    assert admission is not None
    assert admission.environment == staging
    await site.run("update environments set status = 'deleted', node_id = null where id = $1", staging)
    await nodes.publish()
    assert not site.node.table.still_holds(admission)
    assert site.authorize(key) is not None


async def test_a_site_without_processes_and_a_test_site_open_nothing(
    entered_site: EnteredSite, nodes: Nodes
) -> None:
    site = entered_site
    await site.run("update sites set runtime = 'static' where id = $1", site.id)
    key = new_public_key()
    assert (await site.replace_keys(site.owner.session, key)).status_code == 202
    await nodes.publish()
    assert site.authorize(key) is None
    await _require_delivered(site)
    await site.run("update sites set runtime = 'cms', mode = 'test' where id = $1", site.id)
    await nodes.publish()
    assert [command.driver for command in site.node.received] == ["simulator"]


async def test_a_node_that_does_not_answer_delays_no_other_one(
    entered_site: EnteredSite, nodes: Nodes
) -> None:
    """With more lists for the silent node than are sent at once."""
    site = entered_site
    await site.enter(site.owner.session)
    silent, other = site.node.name, (await nodes.add("node-9")).name
    async with site.owner.transaction() as tx:
        for name, count in ((silent, MAX_SENDING + 1), (other, 1)):
            await tx.run(
                "insert into access_lists (env_id, node_id, site_id, driver, content, generation, retry_at)"
                " select env_id || '-' || $2 || number, $2, site_id, driver, content, generation + 1, $4"
                " from access_lists, generate_series(1, $3) number where env_id = $1",
                *(site.env, name, count, tx.now),
            )
        first = await store.claim_due(tx, RETRY_AFTER, MAX_SENDING, [], MAX_SENDING_TO_NODE)
        more = await store.claim_due(tx, RETRY_AFTER, MAX_SENDING, [silent], MAX_SENDING_TO_NODE)
    assert Counter(each.node_id for each in first) == {silent: MAX_SENDING_TO_NODE, other: 1}
    assert more == []


async def test_a_site_whose_lists_fail_delays_no_other_one(
    entered_site: EnteredSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = entered_site
    key = new_public_key()
    assert (await site.replace_keys(site.owner.session, key)).status_code == 202
    update = lists.update_lists

    async def fail_once(tx: Tx, changed: str) -> None:
        monkeypatch.setattr(lists, "update_lists", update)
        raise ValueError("one bad site")

    monkeypatch.setattr(lists, "update_lists", fail_once)
    await site.nodes.publish()
    assert site.authorize(key) is not None, "the change is still known"
