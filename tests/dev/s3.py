"""S3 requests signed without a client library, to test how the object store checks signatures."""

import hashlib
import hmac
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.stack import Stack

REGION = "us-east-1"


async def request(
    stack: Stack, method: str, path: str, body: bytes = b"", secret: str | None = None
) -> httpx.Response:
    url = f"{stack[SeaweedFS].endpoint}{path}"
    headers = _sign(
        method, url, body, stack.secrets["s3_access_key"], secret or stack.secrets["s3_secret_key"]
    )
    async with httpx.AsyncClient(timeout=60.0) as client:
        return await client.request(method, url, content=body, headers=headers)


def _sign(method: str, url: str, body: bytes, access: str, secret: str) -> dict[str, str]:
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{REGION}/s3/aws4_request"
    digest = hashlib.sha256(body).hexdigest()
    parts = urlsplit(url)
    headers = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(headers)
    listed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = "\n".join([method, parts.path, "", listed, names, digest])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for word in (moment[:8], REGION, "s3", "aws4_request"):
        key = hmac.digest(key, word.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": credential}
