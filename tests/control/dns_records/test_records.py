"""DNS records: what is accepted, what conflicts, and what the name server answers."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import dns.asyncquery
import dns.flags
import dns.message
import pytest

from stead.control.app import ControlPlane
from stead.control.dns_records.publisher import ZonePublisher
from stead.control.dns_records.rules import Record
from stead.control.dns_records.values import complete_name, content_of, normalize
from stead.control.engines.powerdns import PowerDns
from stead.dev.engines.powerdns import PowerDns as PowerDnsEngine
from stead.dev.running_stack import RunningStack, run_stack
from stead.shared.errors import ApiError
from tests import teams
from tests.client import Client, code_of
from tests.node.harness import until
from tests.people import Person

ZONE = "example.com"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *(("@", ZONE), ("", ZONE), (ZONE, ZONE), ("example.com.", ZONE), ("www", "www.example.com")),
        *(("WWW.example.com", "www.example.com"), ("*.shop", "*.shop.example.com")),
        *(("_dmarc", "_dmarc.example.com"), ("münchen", "xn--mnchen-3ya.example.com")),
    ],
)
def test_names_are_completed(given: str, name: str):
    assert complete_name(given, ZONE) == name


@pytest.mark.parametrize("name", ["a b", "a..b", "-a", "a-", "x" * 64, "a.*", "**", "a/b", "a\x00b", "@.x"])
def test_other_names_are_refused(name: str):
    with pytest.raises(ApiError):
        complete_name(name, ZONE)


@pytest.mark.parametrize(
    ("type_", "value", "priority", "content"),
    [
        ("A", "192.0.2.1", None, "192.0.2.1"),
        ("AAAA", "2001:DB8:0:0::1", None, "2001:db8::1"),
        ("CNAME", "Target.Example.NET", None, "target.example.net."),
        ("MX", "mail.example.net.", 10, "10 mail.example.net."),
        ("MX", ".", 0, "0 ."),
        ("SRV", "5 5060 sip.example.net", 1, "1 5 5060 sip.example.net."),
        ("CAA", "0 issue letsencrypt.org", None, '0 issue "letsencrypt.org"'),
        ("NS", "ns1.example.net", None, "ns1.example.net."),
        ("TXT", 'v=spf1 "a" \\', None, '"v=spf1 \\"a\\" \\\\"'),
        ("TXT", "é", None, '"\\195\\169"'),
        ("TXT", "x" * 300, None, f'"{"x" * 255}" "{"x" * 45}"'),
    ],
)
def test_values_are_written_as_a_name_server_stores_them(
    type_: str, value: str, priority: int | None, content: str
):
    assert content_of(normalize(type_, f"a.{ZONE}", value, 300, priority, ZONE)) == content


@pytest.mark.parametrize(
    ("type_", "value", "priority"),
    [
        *(("A", "192.0.2", None), ("A", "::1", None), ("A", "192.0.2.1", 5), ("AAAA", "192.0.2.1", None)),
        *(("CNAME", "not a host", None), ("CNAME", "192.0.2.1", None), ("MX", "mail.example.net", None)),
        *(("MX", "192.0.2.1", 10), ("SRV", "sip.example.net", 1), ("SRV", "5 99999 a.example.net", 1)),
        *(("CAA", "1 evil x", None), ("CAA", '0 issue "a" "b"', None), ("TXT", "a\nb", None)),
        *(("TXT", "x" * 2049, None), ("NS", "ns1", None), ("TXT", "", None)),
    ],
)
def test_other_values_are_refused(type_: str, value: str, priority: int | None):
    with pytest.raises(ApiError):
        normalize(type_, f"a.{ZONE}", value, 300, priority, ZONE)


async def _site(person: Person, domain: str) -> str:
    async with person.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        await tx.run("update sites set domain = $2 where id = $1", site, domain)
        await tx.run("update domains set hostname = $2 where site_id = $1", site, domain)
    return site


async def _add(client: Client, site: str, type_: str, name: str, value: str, **more: Any) -> Any:
    body = {"type": type_, "name": name, "value": value, **more}
    return await client.post(f"/v1/sites/{site}/dns/records", json=body)


async def test_records_that_contradict_each_other_are_refused(person: Person, stranger: Person):
    site, client = await _site(person, "conflicts.example.com"), person.session
    assert (await _add(client, site, "A", "a", "192.0.2.1")).status_code == 201
    assert code_of(await _add(client, site, "A", "a", "192.0.2.1")) == "dns_record.exists"
    assert (await _add(client, site, "A", "a", "192.0.2.2")).status_code == 201
    assert code_of(await _add(client, site, "CNAME", "a", "b.example.net")) == "dns_record.conflicts"
    assert (await _add(client, site, "CNAME", "c", "b.example.net")).status_code == 201
    for type_, value in (("A", "192.0.2.1"), ("TXT", "x"), ("CNAME", "d.example.net")):
        assert code_of(await _add(client, site, type_, "c", value)) == "dns_record.conflicts"
    refused = await _add(client, site, "A", "@", "192.0.2.1")
    assert code_of(refused) == "dns_record.conflicts"
    assert "platform" in refused.json()["error"]["message"]
    for type_, value in (("CNAME", "b.example.net"), ("NS", "ns1.example.net")):
        assert code_of(await _add(client, site, type_, "@", value)) == "dns_record.conflicts"
    assert (await _add(client, site, "TXT", "@", "v=spf1 -all")).status_code == 201
    to_alias = await _add(client, site, "MX", "@", "c.conflicts.example.com", priority=5)
    assert code_of(to_alias) == "dns_record.conflicts"
    assert (await _add(client, site, "NS", "sub", "ns1.example.net")).status_code == 201
    assert (await _add(client, site, "NS", "sub", "ns2.example.net")).status_code == 201
    assert code_of(await _add(client, site, "A", "x.sub", "192.0.2.1")) == "dns_record.conflicts"
    other = await _site(stranger, "www.conflicts.example.com")
    assert code_of(await _add(stranger.session, other, "TXT", "@", "mine")) == "dns.zone_taken"


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningStack]:
    home: Path = tmp_path_factory.mktemp("powerdns")
    async with run_stack(home, [PowerDnsEngine]) as started:
        yield started


async def test_the_name_server_answers_what_the_api_says(
    person: Person, plane: ControlPlane, stack: RunningStack
):
    engine = stack[PowerDnsEngine]
    publisher = ZonePublisher(
        plane.database, PowerDns(engine.url, engine.key), ("ns1.platform.example", "ns2.platform.example")
    )
    site, client = await _site(person, "www.answers.example.com"), person.session
    zone = "answers.example.com"
    async with person.transaction() as tx:
        await tx.run("update domains set status = 'pending', verified_at = null where site_id = $1", site)
    made = await _add(client, site, "A", "mail", "192.0.2.7")
    path = f"/v1/sites/{site}/dns/records/{made.json()['data']['id']}"

    async def publish() -> None:
        async with person.transaction() as tx:
            await tx.run("update dns_zones set next_attempt_at = $1", tx.now)
        await publisher.publish_due()

    async def look_up(name: str, kind: str, *, wanted: set[str] | None = None) -> set[str]:
        query = dns.message.make_query(f"{name}.", kind, want_dnssec=True)

        async def ask() -> set[str] | None:
            answer = await dns.asyncquery.udp(query, "127.0.0.1", port=engine.dns_port, timeout=5)
            found = {
                str(each) for part in answer.answer if part.rdtype != dns.rdatatype.RRSIG for each in part
            }
            return found if wanted is None or found == wanted else None

        return await until(ask)

    await publish()
    assert not (await client.get(path)).json()["data"]["published"]
    async with person.transaction() as tx:
        await tx.run(
            "update domains set status = 'verified', verified_at = $2 where site_id = $1", site, tx.now
        )
    await publish()
    assert (await client.get(path)).json()["data"]["published"]
    await look_up(f"mail.{zone}", "A", wanted={"192.0.2.7"})
    await look_up(zone, "NS", wanted={"ns1.platform.example.", "ns2.platform.example."})
    assert await look_up(zone, "DNSKEY")
    await _add(client, site, "TXT", "@", "é" * 200)
    await _add(client, site, "MX", "@", f"mail.{zone}", priority=10)
    await _add(client, site, "TXT", "*", "wild")
    changed = await client.patch(path, json={"value": "192.0.2.8", "ttl": 60})
    assert not changed.json()["data"]["published"]
    await publish()
    await look_up(f"mail.{zone}", "A", wanted={"192.0.2.8"})
    await look_up(zone, "MX", wanted={f"10 mail.{zone}."})
    await look_up(f"any.thing.{zone}", "TXT", wanted={'"wild"'})
    (text,) = await look_up(zone, "TXT")
    assert len(text) > 255
    await client.delete(path)
    await publish()
    await look_up(f"mail.{zone}", "A", wanted=set())
    async with person.transaction() as tx:
        await tx.run(
            "update sites set status = 'deleted', recoverable_until = $2 where id = $1", site, tx.now
        )
    await publish()
    query = dns.message.make_query(f"{zone}.", "NS")

    async def is_refused() -> bool | None:
        answer = await dns.asyncquery.udp(query, "127.0.0.1", port=engine.dns_port, timeout=5)
        return answer.rcode() == dns.rcode.REFUSED or None

    await until(is_refused)


async def test_a_name_server_that_is_down_delays_changes(person: Person, plane: ControlPlane):
    site = await _site(person, "down.example.com")
    made = await _add(person.session, site, "TXT", "a", "x")
    publisher = ZonePublisher(
        plane.database, PowerDns("http://127.0.0.1:9", "key"), ("ns1.platform.example",)
    )
    await publisher.publish_due()
    path = f"/v1/sites/{site}/dns/records/{made.json()['data']['id']}"
    assert not (await person.session.get(path)).json()["data"]["published"]


def test_one_record_set_has_one_ttl():
    from stead.control.dns_records.publisher import _sets

    (found,) = _sets([Record("A", "a.b", "192.0.2.1", 300), Record("A", "a.b", "192.0.2.2", 60)])
    assert (found.ttl, found.contents) == (60, ("192.0.2.1", "192.0.2.2"))
