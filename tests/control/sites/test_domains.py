"""Domains of sites: validation, normalization and uniqueness."""

import asyncio
from datetime import timedelta

import pytest

from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver, create_site, new_domain, request_deletion, request_site
from tests.people import Person

PREVIEW = "preview.stead.example"

NOT_DOMAINS = [
    *("localhost", "intranet", "com", ".", "..", ".example.com", "a..example.com", "example.com.."),
    *("127.0.0.1", "127.1", "10.0.0.0x1", "0x7f.0.0.0x1", "2130706433", "0x7f000001", "0177.0.0.1"),
    *("1.2.3.4.", "１２７.０.０.１", "[::1]", "::1", "fe80::1", "example.123", "example.0x10"),
    *("a.localhost", "printer.local", "db.internal", "x.invalid", "x.onion", "1.0.0.127.in-addr.arpa"),
    *(
        PREVIEW,
        f"x.{PREVIEW}",
        f"a.b.{PREVIEW}",
        f"X.{PREVIEW.upper()}",
        f"x.{PREVIEW}.",
        "x.preview.stead。example",
    ),
    *("exam ple.com", "example.com/path", "https://example.com", "example.com:80", "user@example.com"),
    *("*.example.com", "*", "example.com?x", "example.com#x", "exam_ple.com", "-a.example.com"),
    *("a-.example.com", "ab--cd.example.com", "example.com,b.com", "a\\b.com", "a;b.com", "$(id).com"),
    *("a\nb.com", "a\r\nHost: b.com", "a\tb.com", "a\u2028b.com", "a\u200bb\u200b.c om", "a%2eb", "<b>.com"),
    *(
        "xn--a.com",
        "xn--zzzzzzzzzzzz.com",
        "xn--ls8h.la",
        "💩.la",
        "a\u0301\u202e.com",
        "\ufffd.com",
        "①.c💥m",
    ),
    *(f"{'a' * 64}.com", f"{'ü' * 60}.com", ".".join(["a" * 50] * 5) + ".com", f"{'a.' * 126}com"),
]

SPELLINGS = [
    ("EXAMPLE-{}.COM", "example-{}.com"),
    ("example-{}.com.", "example-{}.com"),
    ("ｅxample-{}。com", "example-{}.com"),
    ("  example-{}.com\n", "example-{}.com"),
    ("BÜCHER-{}.example.com", None),
    ("bu\u0308cher-{}.example.com", None),
    ("пример-{}.рф", None),
    ("ραypal-{}.com", None),
]


@pytest.mark.parametrize("domain", NOT_DOMAINS, ids=ascii)
async def test_a_name_that_is_not_a_public_domain_is_refused_naming_the_field(person: Person, domain: str):
    refused = await request_site(person.session, domain)
    assert code_of(refused) == "request.field_invalid"
    assert refused.json()["error"]["param"] == "domain"


@pytest.mark.parametrize("domain", ["a\0b.com", "\0", "example.com\0"], ids=ascii)
async def test_a_nul_character_is_refused(person: Person, domain: str):
    assert code_of(await request_site(person.session, domain)) == "request.malformed"


@pytest.mark.parametrize("domain", ["", "a" * 254, 7, None, ["a.com"], {"a": "b"}, True], ids=ascii)
async def test_a_domain_that_is_not_text_or_has_the_wrong_length_is_refused(person: Person, domain: object):
    refused = await person.session.post("/v1/sites", json={"domain": domain, "profile": "static"})
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", "domain")


@pytest.mark.parametrize(
    "domain",
    [
        "a.co",
        f"{'a' * 63}.example.com",
        "1.example.com",
        "4chan.org",
        "a-b.c-d.org",
        "example.co.uk",
        "x.xn--p1ai",
    ],
)
async def test_unusual_domains_are_accepted(person: Person, driver: SiteDriver, domain: str):
    site = await create_site(person.session, domain)
    assert site["domain"] == domain
    await driver.set_status(site["id"], "deleted")


async def test_the_longest_domain_is_accepted_and_one_character_more_is_refused(person: Person):
    first = new_domain("")
    longest = f"{first}{'.'.join(['a' * 47] * 4)}.example.com"
    longest = f"{'b' * (253 - len(longest))}{longest}"
    assert len(longest) == 253
    assert (await create_site(person.session, longest))["domain"] == longest
    assert code_of(await request_site(person.session, f"c{longest}")) == "request.field_invalid"


@pytest.mark.parametrize(("spelling", "kept"), SPELLINGS, ids=ascii)
async def test_all_spellings_of_a_domain_are_the_same_domain(person: Person, spelling: str, kept: str | None):
    random_label = new_domain("").strip(".")
    site = await create_site(person.session, spelling.format(random_label))
    assert site["domain"].isascii()
    assert site["domain"] == site["domain"].lower()
    if kept is not None:
        assert site["domain"] == kept.format(random_label)
    for again in (
        site["domain"],
        site["domain"].upper(),
        spelling.format(random_label).upper(),
        f"{site['domain']}.",
    ):
        assert code_of(await request_site(person.session, again)) == "site.domain_taken"


async def test_letters_that_look_alike_are_different_domains(person: Person):
    random_label = new_domain("").strip(".")
    latin = await create_site(person.session, f"paypal-{random_label}.com")
    mixed = await create_site(person.session, f"рaypal-{random_label}.com")
    assert mixed["domain"].startswith("xn--")
    assert mixed["domain"] != latin["domain"]


async def test_the_unicode_and_the_ascii_form_are_the_same(person: Person):
    random_label = new_domain("").strip(".")
    ascii_form = (await create_site(person.session, f"bücher-{random_label}.example.com"))["domain"]
    assert ascii_form.startswith("xn--bcher-")
    for again in (
        f"BÜCHER-{random_label}.EXAMPLE.com",
        f"bu\u0308cher-{random_label}.example.com",
        ascii_form.upper(),
    ):
        assert code_of(await request_site(person.session, again)) == "site.domain_taken"


@pytest.mark.parametrize(
    "spellings",
    [["{}.example.com"], ["{}.example.com", "{}.EXAMPLE.com", "{}.example.com.", "{}。example。com"]],
    ids=["same", "equivalent"],
)
async def test_one_of_twenty_concurrent_requests_gets_the_domain(
    new_person: NewPerson, driver: SiteDriver, spellings: list[str]
):
    people = [await new_person() for _ in range(20)]
    random_label = new_domain("").strip(".")
    answers = await asyncio.gather(
        *(
            request_site(each.session, spellings[n % len(spellings)].format(random_label))
            for n, each in enumerate(people)
        )
    )
    codes = sorted(code_of(answer) for answer in answers)
    assert codes == ["202", *["site.domain_taken"] * 19]
    domain = f"{random_label}.example.com"
    assert await driver.fetch_value("select count(*) from sites where domain = $1", domain) == 1
    sql = "select count(*) from events where type = 'site.created' and data ->> 'domain' = $1"
    assert await driver.fetch_value(sql, domain) == 1


async def test_a_refusal_of_a_taken_domain_reveals_nothing_about_its_owner(person: Person, stranger: Person):
    taken = await create_site(stranger.session)
    refused = await request_site(person.session, taken["domain"])
    assert refused.status_code == 409
    assert taken["id"] not in refused.text
    assert stranger.id not in refused.text


async def test_a_deleted_site_keeps_its_domain_while_it_can_be_recovered(
    person: Person, stranger: Person, driver: SiteDriver, clock: MovableClock
):
    site, domain = await driver.insert_site(account=person.id)
    deletion = await request_deletion(person.session, site, domain)
    assert deletion.status_code == 202
    assert code_of(await request_site(stranger.session, domain)) == "site.domain_taken"
    await driver.run_job(deletion.json()["data"]["id"])
    key = await stranger.key(expires_in_days=365)
    for days, code in ((0, "site.domain_taken"), (29.99, "site.domain_taken"), (30.01, "202")):
        clock.ahead = timedelta(days=days)
        assert code_of(await request_site(key, domain)) == code


async def test_the_owner_of_a_deleted_site_can_use_its_domain_again(person: Person, driver: SiteDriver):
    _, domain = await driver.insert_site(account=person.id, status="deleted")
    assert (await request_site(person.session, domain)).status_code == 202
    assert code_of(await request_site(person.session, domain)) == "site.domain_taken"


async def test_a_slug_is_a_dns_label_from_the_domain_and_random_characters(person: Person):
    domains = [
        new_domain(),
        f"{'a' * 60}.{new_domain()}",
        f"bücher-{new_domain()}",
        f"abc----{new_domain()}",
        f"1.{new_domain()}",
    ]
    slugs = [(await create_site(person.session, domain))["slug"] for domain in domains]
    for slug in slugs:
        assert len(slug) <= 45
        assert slug.strip("-") == slug
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slugs[0].startswith(domains[0].replace(".", "-")[:40].strip("-"))
    assert len(slugs[0].rpartition("-")[2]) == 4
