"""A tenant that tries to fill the object store and the disks of nodes: its neighbour notices nothing."""

import asyncio
import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stead.artifacts.limits import MiB, SizeLimits
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import MAX_OPEN, object_name
from tests.abuse.tenants import Tenant, new_neighbour
from tests.delivery.delivery import Delivery

DECLARED = 1000
SLOWER = 10.0
"""Generous, because of other load on the machine. Before the limits, the neighbour's requests failed."""


def put(url: str, headers: dict[str, str], body: bytes, *, chunked: bool = False) -> int:
    """The status of a request with exactly these headers; 0 if the connection was closed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.putrequest("PUT", f"{parts.path}?{parts.query}", skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        for piece in _pieces(body, chunked=chunked):
            connection.send(piece)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def _pieces(body: bytes, *, chunked: bool) -> Iterator[bytes]:
    if not chunked:
        yield body
        return
    for start in range(0, len(body), 1 << 16):
        piece = body[start : start + (1 << 16)]
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def megabytes(directory: Path) -> int:
    done = subprocess.run(["/usr/bin/du", "-sm", directory], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


async def test_an_upload_url_accepts_one_archive_of_the_declared_size(
    delivery: Delivery, attacker: Tenant
) -> None:
    site = await attacker.site()
    upload = await attacker.upload(site, DECLARED)
    url, headers, large = upload["url"], upload["headers"], bytes(5 * MiB)
    attempts = {
        "larger": put(url, headers | {"Content-Length": str(len(large))}, large),
        "smaller": put(url, headers | {"Content-Length": "1"}, b"x"),
        "chunked": put(url, {"If-None-Match": "*"}, large, chunked=True),
        "both lengths": put(url, headers, large, chunked=True),
        "without the precondition": put(url, {"Content-Length": str(DECLARED)}, bytes(DECLARED)),
        "a copy": put(url, headers | {"x-amz-copy-source": "/stead/uploads/other"}, bytes(DECLARED)),
    }
    assert set(attempts.values()) <= {0, 400, 403}, attempts
    upload = await attacker.upload(site, DECLARED)
    at_once = await asyncio.gather(
        *(
            asyncio.to_thread(put, upload["url"], upload["headers"], bytes([65 + number]) * DECLARED)
            for number in range(12)
        )
    )
    assert set(at_once) <= {200, 409, 412}
    assert at_once.count(200) == 1
    # Also after the archive was built and its storage was freed.
    await delivery.harness.sql("update uploads set expires_at = now() where id = $1", upload["id"])
    await uploads.remove_expired(delivery.harness.database, delivery.objects)
    assert await delivery.objects.size(object_name(upload["id"])) == 0
    assert put(upload["url"], upload["headers"], bytes(DECLARED)) == 412


async def test_an_archive_that_arrives_after_its_upload_was_removed_is_removed_too(
    delivery: Delivery, attacker: Tenant
) -> None:
    kept = await attacker.upload(await attacker.site(), DECLARED)
    assert put(kept["url"], kept["headers"], bytes(DECLARED)) == 200
    late = object_name("upl_01k9zy3v7d00r3m8w5x2t6b4qa")
    await delivery.objects.put(late, b"an archive that was sent for hours")
    assert await uploads.remove_unknown(delivery.harness.database, delivery.objects) == 1
    assert await delivery.objects.size(object_name(kept["id"])) == DECLARED


async def test_a_neighbour_uploads_and_deploys_while_a_tenant_tries_to_fill_every_disk(
    delivery: Delivery, attacker: Tenant
) -> None:
    neighbour = await new_neighbour(delivery)
    usual_visit, usual_deploy = await neighbour.visit(), await neighbour.deploy("before the attack")
    site = await attacker.site()
    releases = delivery.harness.node.data / "releases"
    before = megabytes(releases)

    async def open_uploads() -> int:
        for number in range(2 * MAX_OPEN):
            body = {"size_bytes": 4 * MiB}
            answer = await attacker.client.post(f"/v1/sites/{site.id}/uploads", json=body)
            if answer.status_code == 429 and answer.json()["error"]["type"] == "quota_exceeded":
                return number
            if answer.status_code == 201:
                upload = answer.json()["data"]
                await asyncio.to_thread(put, upload["url"], upload["headers"], bytes(64 * MiB))
        return 2 * MAX_OPEN

    async def deploy_bomb(**lies: Any) -> str:
        """A layer of some kilobytes that would be 600 MB on the node."""
        files = {"bomb": "\0" * (600 * MiB)}
        build, packed = await delivery.staged(site, files, limits=SizeLimits(), **lies)
        assert packed.size < 200_000
        artifact = await delivery.signed(build)
        job = await attacker.ended(f"{site.path}/deployments", {"artifact_id": artifact})
        assert job["status"] == "failed"
        return str(job["error"]["code"])

    attack = asyncio.gather(open_uploads(), deploy_bomb(), deploy_bomb(bytes=1))
    visits: list[float] = []
    deploys: list[float] = []
    while not attack.done():
        visits.append(await neighbour.visit(50))
        deploys.append(await neighbour.deploy(f"page {len(deploys)} during the attack"))
    opened, *refusals = await attack
    upload = await delivery.upload(neighbour.site, size=10)
    assert put(upload["url"], upload["headers"], b"an archive") == 200
    assert refusals == ["artifact.signature_invalid"] * 2
    assert opened <= MAX_OPEN
    assert megabytes(releases) - before < 20
    print(  # noqa: T201
        f"\n{opened} open uploads; a neighbour's visits: p99 ratio {max(visits) / usual_visit:.1f};"
        f" its deployments: ratio {max(deploys) / usual_deploy:.1f}"
    )
    assert max(deploys) / usual_deploy < SLOWER
