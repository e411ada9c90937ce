"""The object store, by any S3 API: one bucket, names that we choose, and addresses signed for others.

botocore blocks, so every call is made in a thread. Signing an address costs no request.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Lock
from typing import Any, BinaryIO, TypeVar

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from stead.artifacts import digests

T = TypeVar("T")

_MISSING = {"404", "NoSuchKey", "NotFound"}
_CHANGED = {"412", "PreconditionFailed"}
_DELETED_AT_ONCE = 1_000
_PIECE = 1024 * 1024


class ObjectMissing(Exception):
    """There is nothing by this name."""


class ObjectChanged(Exception):
    """It is not the one that was looked at."""


class ObjectStoreUnavailable(Exception):
    """The object store does not answer, or not as it should; it may soon."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object as it was read to its end."""

    digest: digests.Digest
    size: int
    etag: str


class ObjectStore:
    def __init__(
        self, endpoint: str, access_key: str, secret_key: str, bucket: str, *, public_endpoint: str = ""
    ) -> None:
        self._bucket = bucket
        self._endpoint, self._public_endpoint = endpoint, public_endpoint or endpoint
        self._access_key, self._secret_key = access_key, secret_key
        self._clients: dict[str, Any] = {}
        self._making = Lock()

    @property
    def _client(self) -> Any:
        return self._client_at(self._endpoint)

    @property
    def _public(self) -> Any:
        """Whose addresses customers are given."""
        return self._client_at(self._public_endpoint)

    def _client_at(self, endpoint: str) -> Any:
        """Made when it is first needed: it takes a moment, and a program may never need one."""
        with self._making:
            if endpoint not in self._clients:
                self._clients[endpoint] = self._made(endpoint)
            return self._clients[endpoint]

    def _made(self, endpoint: str) -> Any:
        if not endpoint:
            raise ObjectStoreUnavailable("no object store is named")
        return botocore.session.get_session().create_client(
            "s3",
            region_name="us-east-1",
            endpoint_url=endpoint,
            aws_access_key_id=self._access_key,
            aws_secret_access_key=self._secret_key,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                connect_timeout=5,
                read_timeout=60,
                retries={"total_max_attempts": 3, "mode": "standard"},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )

    async def ensure_bucket(self) -> None:
        """The bucket is there."""
        try:
            await self._call(self._client.head_bucket, Bucket=self._bucket)
        except ObjectMissing:
            await self._call(self._client.create_bucket, Bucket=self._bucket)

    async def put(self, key: str, content: bytes) -> None:
        await self._call(self._client.put_object, Bucket=self._bucket, Key=key, Body=content)

    async def get(self, key: str, *, most: int) -> bytes:
        """All of it; for what is small."""

        def read() -> bytes:
            with closing(self._opened(key)) as body:
                content = bytes(body.read(most + 1))
            if len(content) > most:
                raise ObjectStoreUnavailable(f"{key} is larger than {most} bytes")
            return content

        return await _in_thread(read)

    def read_chunks(self, key: str) -> Iterator[bytes]:
        """Blocks; for a thread of the caller's."""
        try:
            with closing(self._opened(key)) as body:
                while piece := body.read(_PIECE):
                    yield piece
        except (ClientError, BotoCoreError, OSError) as error:
            raise _translated(error) from None

    async def inspect(self, key: str) -> ObjectInfo:
        """Reads it to its end: what it really is, whatever anybody said."""

        def read() -> ObjectInfo:
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            with closing(answer["Body"]) as body:
                digest, size = digests.of_file(body)
            return ObjectInfo(digest, size, answer["ETag"])

        return await _in_thread(read)

    async def size(self, key: str) -> int:
        found = await self._call(self._client.head_object, Bucket=self._bucket, Key=key)
        return int(found["ContentLength"])

    async def copy(self, seen: ObjectInfo, key: str, to: str) -> None:
        """The very one that was looked at."""
        await self._call(
            self._client.copy_object,
            Bucket=self._bucket,
            Key=to,
            CopySource={"Bucket": self._bucket, "Key": key},
            CopySourceIfMatch=seen.etag,
        )

    async def delete(self, keys: Sequence[str]) -> None:
        """Fine when they are not there."""
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            some = [{"Key": key} for key in keys[start : start + _DELETED_AT_ONCE]]
            answer = await self._call(
                self._client.delete_objects, Bucket=self._bucket, Delete={"Objects": some, "Quiet": True}
            )
            if answer.get("Errors"):
                raise ObjectStoreUnavailable(f"{len(answer['Errors'])} objects were not deleted")

    def presigned_get_url(self, key: str, *, seconds: int) -> str:
        return self._signed(self._client, "get_object", key, seconds)

    def presigned_put_url(self, key: str, *, seconds: int, public: bool = False) -> str:
        return self._signed(self._public if public else self._client, "put_object", key, seconds)

    def _signed(self, client: Any, method: str, key: str, seconds: int) -> str:
        params = {"Bucket": self._bucket, "Key": key}
        return str(client.generate_presigned_url(method, Params=params, ExpiresIn=seconds))

    def _opened(self, key: str) -> BinaryIO:
        body: BinaryIO = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        return body

    async def _call(self, method: Callable[..., Any], **params: Any) -> Any:
        return await _in_thread(lambda: method(**params))


async def _in_thread(call: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(call)
    except (ClientError, BotoCoreError, OSError) as error:
        raise _translated(error) from None


def _translated(error: Exception) -> Exception:
    """Without what was asked for: a signed address is a secret for as long as it lasts."""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
    if code in _MISSING:
        return ObjectMissing()
    if code in _CHANGED:
        return ObjectChanged()
    return ObjectStoreUnavailable(code or type(error).__name__)
