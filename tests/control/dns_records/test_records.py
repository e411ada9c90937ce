"""DNS records: what is accepted, what conflicts, and what the name server answers."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dns.asyncquery
import dns.flags
import dns.message
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.certificates.preflight import Preflight
from stead.control.dns_records.delegation import DelegationChecker
from stead.control.dns_records.proving import ZoneProver
from stead.control.dns_records.publisher import ZonePublisher, _sets
from stead.control.dns_records.rules import WITH_PRIORITY, Record, zone_of
from stead.control.dns_records.values import complete_name, content_of, normalize
from stead.control.domains import store as domains
from stead.control.domains.names import normalize_hostname
from stead.control.domains.rules import NewClaim
from stead.control.engines.dns_records import DnsRecords
from stead.control.engines.powerdns import PowerDns
from stead.control.settings import Settings
from stead.dev.engines.powerdns import PowerDns as PowerDnsEngine
from stead.dev.running_stack import RunningStack, run_stack
from stead.shared.errors import ApiError, FieldInvalid
from stead.shared.ids import new_id
from tests import own_database, teams
from tests.answering_node import place_on_answering_node
from tests.client import Client, code_of
from tests.documented_commands import run_commands
from tests.node.harness import until
from tests.people import Person

settings, plane = own_database.settings, own_database.plane
anonymous, new_person = own_database.anonymous, own_database.new_person

ZONE = "example.com"
NAMESERVERS = ("ns1.platform.example", "ns2.platform.example")
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Due before the zones of all other tests."""
EDGES = "192.0.2.80, elsewhere=198.51.100.1, 10.0.0.0/8"


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


def test_a_zone_is_a_domain_without_www():
    assert [zone_of(each) for each in ("www.example.com", "example.com", "www.co.uk")] == [
        *("example.com", "example.com", "www.co.uk")
    ]


def test_no_site_has_the_name_of_a_name_server(settings: Settings):
    """Its zone would hide the addresses of the name server."""
    own = replace(settings, dns_nameservers="NS1.dns.example.net, ns2.dns.example.net").own_names
    for name in ("ns1.dns.example.net", "www.ns2.dns.example.net"):
        with pytest.raises(FieldInvalid, match="The platform assigns"):
            normalize_hostname(name, own_names=own)
    assert normalize_hostname("shop.dns.example.net", own_names=own)


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
        ("CAA", '0 issue "ca.example; account=7"', None, '0 issue "ca.example; account=7"'),
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
        *(("CAA", "0 issue a\x00b", None), ("CAA", "0 issue é", None), ("SRV", "٣ 5060 a.example.net", 1)),
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
        await tx.run(
            "update domains set hostname = $2, proved_by_record = true where site_id = $1", site, domain
        )
    return site


async def _prove(person: Person, site: str, hostname: str) -> str:
    """Attach a verified domain to the site."""
    async with person.transaction() as tx:
        env = await tx.value("select id from environments where site_id = $1", site)
        claim, id_ = NewClaim(hostname, site, env, person.id, "live"), new_id("dom")
        await domains.insert(tx, id_, claim, "stead-challenge", verified=True)
    return id_


async def _add(client: Client, site: str, type_: str, name: str, value: str, **more: Any) -> Any:
    body = {"type": type_, "name": name, "value": value, **more}
    return await client.post(f"/v1/sites/{site}/dns/records", json=body)


async def test_records_that_contradict_each_other_are_refused(person: Person, stranger: Person):
    site, client = await _site(person, "conflicts.example.com"), person.session
    assert (await _add(client, site, "A", "a", "192.0.2.1")).status_code == 201
    assert code_of(await _add(client, site, "A", "a", "192.0.2.1")) == "dns_record.exists"
    assert (await _add(client, site, "A", "a", "192.0.2.2")).status_code == 201
    assert code_of(await _add(client, site, "A", "a", "192.0.2.1", ttl=60)) == "dns_record.exists"
    assert (await _add(client, site, "MX", "a", "mail.example.net", priority=1)).status_code == 201
    again = await _add(client, site, "MX", "a", "mail.example.net", priority=1, ttl=60)
    assert code_of(again) == "dns_record.exists"
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
    in_zone = await _add(client, site, "MX", "@", "mx.conflicts.example.com", priority=5)
    assert in_zone.status_code == 201
    assert code_of(await _add(client, site, "CNAME", "mx", "b.example.net")) == "dns_record.conflicts"
    assert (await _add(client, site, "NS", "sub", "ns1.example.net")).status_code == 201
    assert (await _add(client, site, "NS", "sub", "ns2.example.net")).status_code == 201
    assert code_of(await _add(client, site, "A", "x.sub", "192.0.2.1")) == "dns_record.conflicts"
    other = await _site(stranger, "www.conflicts.example.com")
    assert code_of(await _add(stranger.session, other, "TXT", "@", "mine")) == "dns.zone_taken"


async def test_an_answer_fits_into_a_message(person: Person):
    site, client = await _site(person, "long.example.com"), person.session
    for number in range(16):
        assert (await _add(client, site, "TXT", "@", f"{number:02}" + "x" * 2046)).status_code == 201
    refused = await _add(client, site, "TXT", "@", "y")
    assert code_of(refused) == "dns_record.conflicts"
    assert "32 KiB" in refused.json()["error"]["message"]
    assert (await _add(client, site, "TXT", "other", "y")).status_code == 201


async def test_the_documented_commands_work(person: Person, anonymous: Client):
    site = await _site(person, "documented.example.com")
    key = await person.secret("domains:write", "domains:read")
    responses = await run_commands(anonymous, "dns.md", SITE=site, STEAD_API_KEY=key)
    assert [each.status_code for each in responses] == [201, 201, 200]
    assert {each["type"] for each in responses[-1].json()["data"]} == {"MX", "TXT"}


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningStack]:
    home: Path = tmp_path_factory.mktemp("powerdns")
    async with run_stack(home, [PowerDnsEngine]) as started:
        yield started


@dataclass(frozen=True)
class NameServer:
    """A publisher and the name server that it publishes to."""

    plane: ControlPlane
    engine: PowerDnsEngine

    async def publish(self, *sites: str) -> None:
        async with self.plane.database.transaction() as tx:
            await tx.run("update dns_zones set next_attempt_at = $1 where site_id = any($2)", tx.now, sites)
        server = PowerDns(self.engine.url, self.engine.key)
        publisher = ZonePublisher(self.plane.database, server, NAMESERVERS, Preflight(EDGES))
        await publisher.compare()
        await publisher.publish_due()

    async def look_up(self, name: str, kind: str, *, wanted: set[str] | None = None) -> set[str]:
        """Waits until the answer is the wanted one."""

        async def ask() -> set[str] | None:
            answer = await self.query(name, kind)
            found = {
                str(each) for part in answer.answer if part.rdtype != dns.rdatatype.RRSIG for each in part
            }
            return found if wanted is None or found == wanted else None

        return await until(ask)

    async def query(self, name: str, kind: str) -> dns.message.Message:
        query = dns.message.make_query(f"{name}.", kind, want_dnssec=True)
        answer, _ = await dns.asyncquery.udp_with_fallback(
            query, "127.0.0.1", port=self.engine.dns_port, timeout=5
        )
        return answer

    async def until_refused(self, zone: str) -> None:
        async def is_refused() -> bool | None:
            return (await self.query(zone, "NS")).rcode() == dns.rcode.REFUSED or None

        await until(is_refused)


@pytest.fixture
def name_server(plane: ControlPlane, stack: RunningStack) -> NameServer:
    return NameServer(plane, stack[PowerDnsEngine])


async def test_the_name_server_answers_what_the_api_says(person: Person, name_server: NameServer):
    look_up = name_server.look_up
    site, client = await _site(person, "www.answers.example.com"), person.session
    zone = "answers.example.com"
    async with person.transaction() as tx:
        await tx.run("update domains set status = 'pending', verified_at = null where site_id = $1", site)
    made = await _add(client, site, "A", "mail", "192.0.2.7")
    path = f"/v1/sites/{site}/dns/records/{made.json()['data']['id']}"

    await name_server.publish(site)
    assert not (await client.get(path)).json()["data"]["published"]
    async with person.transaction() as tx:
        await tx.run(
            "update domains set status = 'verified', verified_at = $2 where site_id = $1", site, tx.now
        )
    # A name in the zone may have been given to somebody else.
    await name_server.publish(site)
    assert not (await client.get(path)).json()["data"]["published"]
    await _prove(person, site, zone)
    await name_server.publish(site)
    assert (await client.get(path)).json()["data"]["published"]
    await look_up(f"mail.{zone}", "A", wanted={"192.0.2.7"})
    await look_up(zone, "NS", wanted={"ns1.platform.example.", "ns2.platform.example."})
    assert await look_up(zone, "DNSKEY")
    await _add(client, site, "TXT", "@", "é" * 200)
    await _add(client, site, "MX", "@", f"mail.{zone}", priority=10)
    await _add(client, site, "TXT", "*", "wild")
    changed = await client.patch(path, json={"value": "192.0.2.8", "ttl": 60})
    assert not changed.json()["data"]["published"]
    await name_server.publish(site)
    await look_up(f"mail.{zone}", "A", wanted={"192.0.2.8"})
    await look_up(zone, "MX", wanted={f"10 mail.{zone}."})
    await look_up(f"any.thing.{zone}", "TXT", wanted={'"wild"'})
    (text,) = await look_up(zone, "TXT")
    assert len(text) > 255
    await client.delete(path)
    await name_server.publish(site)
    await look_up(f"mail.{zone}", "A", wanted=set())
    async with person.transaction() as tx:
        await tx.run(
            "update sites set status = 'deleted', recoverable_until = $2 where id = $1", site, tx.now
        )
    await name_server.publish(site)
    await name_server.until_refused(zone)


async def test_a_zone_follows_the_proof_of_its_domain(
    person: Person, stranger: Person, name_server: NameServer
):
    """Whoever comes first cannot keep a zone from its owner, and nobody keeps what was given up."""
    zone, look_up = "proof.example.com", name_server.look_up
    early, later = await _site(stranger, f"www.{zone}"), await _site(person, f"www2.{zone}")
    async with person.transaction() as tx:
        await tx.run("update sites set domain = $2 where id = $1", later, zone)
    assert (await _add(stranger.session, early, "TXT", "@", "of the stranger")).status_code == 201
    await name_server.publish(early)
    await name_server.until_refused(zone)
    assert (await _add(person.session, later, "TXT", "@", "of the owner")).status_code == 201
    proof = await _prove(person, later, zone)
    await name_server.publish(early, later)
    await look_up(zone, "TXT", wanted={'"of the owner"'})
    assert code_of(await _add(stranger.session, early, "TXT", "@", "more")) == "dns.zone_taken"
    async with person.transaction() as tx:
        await tx.run(
            "update domains set released_at = $2, released_by = $3 where id = $1", proof, tx.now, person.id
        )
    await _prove(stranger, early, zone)
    assert (await _add(stranger.session, early, "TXT", "@", "now proved")).status_code == 201
    await name_server.publish(early)
    await name_server.publish(early, later)
    wanted = {'"of the stranger"', '"now proved"'}
    await look_up(zone, "TXT", wanted=wanted)
    assert code_of(await _add(person.session, later, "TXT", "@", "too late")) == "dns.zone_taken"
    async with person.transaction() as tx:
        await tx.run("update sites set status = 'deleted' where id = $1", later)
    await name_server.publish(early, later)
    await look_up(zone, "TXT", wanted=wanted)


async def _check_all(checker: ZoneProver | DelegationChecker) -> None:
    """All batches: zones of other tests may be due, too."""
    while await checker.check_due():
        pass


async def test_that_a_name_points_here_does_not_prove_its_zone(person: Person, name_server: NameServer):
    zone, engine = "pointing.example.com", name_server.engine
    site = await _site(person, zone)
    async with person.transaction() as tx:
        await tx.run(
            "update domains set proved_by_record = false, challenge = 'the proof' where site_id = $1", site
        )
    assert (await _add(person.session, site, "TXT", "@", "mine")).status_code == 201
    prover = ZoneProver(name_server.plane.database, DnsRecords(f"127.0.0.1:{engine.dns_port}"))
    challenge = f"_stead-challenge.{zone}"
    for value in ("of another", "the proof"):
        await name_server.publish(site)
        await name_server.until_refused(zone)
        record = Record("TXT", challenge, value, 60)
        await PowerDns(engine.url, engine.key).replace_zone(challenge, _sets([record]), NAMESERVERS)
        await name_server.look_up(challenge, "TXT", wanted={f'"{value}"'})
        async with person.transaction() as tx:
            await tx.run("update dns_zones set proof_check_at = $2 where site_id = $1", site, LONG_AGO)
        await _check_all(prover)
    await name_server.publish(site)
    await name_server.look_up(zone, "TXT", wanted={'"mine"'})


async def test_a_zone_does_not_hide_a_part_of_the_zone_of_another_owner(
    person: Person, stranger: Person, name_server: NameServer
):
    zone, part = "hidden.example.com", "login.hidden.example.com"
    early, later = await _site(stranger, part), await _site(person, zone)
    assert (await _add(stranger.session, early, "TXT", "@", "of the stranger")).status_code == 201
    await name_server.publish(early)
    await name_server.look_up(part, "TXT", wanted={'"of the stranger"'})
    assert (await _add(person.session, later, "TXT", "login", "of the owner")).status_code == 201
    await name_server.publish(later)
    await name_server.publish(early)
    await name_server.look_up(part, "TXT", wanted={'"of the owner"'})
    found = (await person.session.get(f"/v1/sites/{later}/dns/records")).json()["data"]
    await person.session.delete(f"/v1/sites/{later}/dns/records/{found[0]['id']}")
    for server in NAMESERVERS:
        assert (await _add(person.session, later, "NS", "login", server)).status_code == 201
    await name_server.publish(early, later)
    await name_server.look_up(part, "TXT", wanted={'"of the stranger"'})


async def test_a_domain_that_is_attached_later_replaces_what_is_in_its_place(
    person: Person, name_server: NameServer
):
    zone = "attached.example.com"
    site, client = await _site(person, zone), person.session
    await _add(client, site, "CNAME", "shop", "shops.example.net")
    await _add(client, site, "TXT", "@", "stays")
    async with person.transaction() as tx:
        await place_on_answering_node(tx, site)
        await tx.run(
            "update nodes set edge_address = '203.0.113.66:80' where id in"
            " (select node_id from environments where site_id = $1)",
            site,
        )
    await name_server.publish(site)
    await name_server.look_up(f"shop.{zone}", "CNAME", wanted={"shops.example.net."})
    await _prove(person, site, f"shop.{zone}")
    # Nobody has changed a record.
    await name_server.publish(site)
    await name_server.look_up(f"shop.{zone}", "CNAME", wanted=set())
    # What nodes say about themselves is not published, nor are addresses of other regions and networks.
    await name_server.look_up(f"shop.{zone}", "A", wanted={"192.0.2.80"})
    await name_server.look_up(zone, "TXT", wanted={'"stays"'})


async def test_the_delegation_of_a_domain_is_shown(person: Person, name_server: NameServer):
    zone = "delegated.example.com"
    site, client = await _site(person, zone), person.session
    made = await _add(client, site, "TXT", "@", "x")
    path = f"/v1/sites/{site}/dns/records/{made.json()['data']['id']}"
    assert made.json()["data"]["delegation"] == "unknown"
    await name_server.publish(site)
    await name_server.look_up(zone, "NS", wanted={f"{each}." for each in NAMESERVERS})
    resolver = DnsRecords(f"127.0.0.1:{name_server.engine.dns_port}")
    others = ("ns1.elsewhere.example", "ns2.elsewhere.example")
    for own, shown in ((others, "none"), ((NAMESERVERS[0], *others), "partial"), (NAMESERVERS, "complete")):
        async with person.transaction() as tx:
            await tx.run("update dns_zones set delegation_check_at = $2 where site_id = $1", site, LONG_AGO)
        await _check_all(DelegationChecker(name_server.plane.database, resolver, own))
        assert (await client.get(path)).json()["data"]["delegation"] == shown
    silent = DnsRecords("127.0.0.1:9")
    async with person.transaction() as tx:
        await tx.run("update dns_zones set delegation_check_at = $2 where site_id = $1", site, LONG_AGO)
    await _check_all(DelegationChecker(name_server.plane.database, silent, NAMESERVERS))
    assert (await client.get(path)).json()["data"]["delegation"] == "complete"


VALUES = {
    "A": ["192.0.2.1", "0.0.0.1", "255.255.255.255"],
    "AAAA": ["::", "::ffff:192.0.2.1", "2001:db8::1"],
    "CNAME": ["_x.example.net", "xn--mnchen-3ya.example", f"{'a' * 63}.{'b' * 63}.{'c' * 63}.example"],
    "MX": [".", "a_b.example.net", "1.example.net"],
    "NS": ["a_b.example.net", "1.example.net"],
    "SRV": ["0 0 .", "65535 65535 _sip._tcp.example.net"],
    "CAA": ['0 issue ";"', '128 iodef "mailto:a@example.com"', '0 issuewild ""', "0 issue a b;c=d\te"],
    "TXT": ["é" * 1024, '"' * 2048, "\\", "a;b", "\\000", "$ORIGIN .", "( )", "\u200b", " ", "@"],
}
NAMES = [
    "*",
    "*.a",
    "_x",
    "a_b",
    "1",
    "xn--a",
    "a" * 63,
    "-",
    "é",
    "☃",
    "ß",
    "a.b.c.d.e",
    "１",
    "a\\.b",
    "a;b",
]


async def test_everything_that_is_accepted_can_be_published(name_server: NameServer):
    """One record that the name server refuses would keep all others of the zone from being published."""
    zone, records = "accepted.example.com", []
    given = [(type_, value) for type_, values in VALUES.items() for value in values]
    for number, (type_, value) in enumerate(given):
        for place, name in enumerate(NAMES):
            with suppress(ApiError):
                complete = complete_name(f"{name}.{number}-{place}", zone)
                priority = 10 if type_ in WITH_PRIORITY else None
                records.append(normalize(type_, complete, value, 300, priority, zone))
    assert {each.type for each in records} == set(VALUES)
    server = PowerDns(name_server.engine.url, name_server.engine.key)
    await server.replace_zone(zone, _sets(records), NAMESERVERS)
    for record in [records[0], records[len(records) // 2], records[-1]]:
        assert await name_server.look_up(record.name, record.type)


async def test_only_what_has_changed_is_sent(name_server: NameServer):
    zone, engine, sent = "unchanged.example.com", name_server.engine, list[Any]()

    class RecordingPowerDns(PowerDns):
        def _request(self, method: str, path: str, body: Any, accepted: Any = ()) -> Any:
            if method == "PATCH":
                sent.append([(each["name"], each["type"], each["changetype"]) for each in body["rrsets"]])
            return super()._request(method, path, body, accepted)

    server = RecordingPowerDns(engine.url, engine.key)
    records = [
        normalize(type_, f"{type_.lower()}.{zone}", value, 300, priority, zone)
        for type_, value, priority in (
            ("A", "192.0.2.1", None),
            ("AAAA", "2001:db8::1", None),
            ("MX", "mail.example.net", 10),
            ("SRV", "5 5060 sip.example.net", 10),
            ("TXT", 'é "quoted" \\ text', None),
        )
    ]
    await server.replace_zone(zone, _sets(records), NAMESERVERS)
    await server.replace_zone(zone, _sets(records), NAMESERVERS)
    assert len(sent) == 1
    await server.replace_zone(zone, _sets([*records[1:], Record("A", zone, "192.0.2.1", 60)]), NAMESERVERS)
    assert sorted(sent[1]) == [(f"a.{zone}.", "A", "DELETE"), (f"{zone}.", "A", "REPLACE")]


async def test_a_name_server_that_is_down_delays_changes(person: Person, plane: ControlPlane):
    site = await _site(person, "down.example.com")
    made = await _add(person.session, site, "TXT", "a", "x")
    publisher = ZonePublisher(
        plane.database, PowerDns("http://127.0.0.1:9", "key"), NAMESERVERS, Preflight(EDGES)
    )
    await publisher.publish_due()
    path = f"/v1/sites/{site}/dns/records/{made.json()['data']['id']}"
    assert not (await person.session.get(path)).json()["data"]["published"]


def test_one_record_set_has_one_ttl():
    (found,) = _sets([Record("A", "a.b", "192.0.2.1", 300), Record("A", "a.b", "192.0.2.2", 60)])
    assert (found.ttl, found.contents) == (60, ("192.0.2.1", "192.0.2.2"))
