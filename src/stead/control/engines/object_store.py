"""The object store: one bucket in any service with an S3 API.

botocore is blocking, so every call runs in a thread. Presigning a URL needs no request.
"""

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import IO, Any, BinaryIO, TypeVar

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader, create_loader

from stead.artifacts import digests
from stead.control.engines.transaction_guard import require_no_transaction

T = TypeVar("T")

_MISSING = {"404", "NoSuchKey", "NotFound"}
_CHANGED = {"412", "PreconditionFailed"}
_INVALID_RANGE = {"416", "InvalidRange"}
_DELETE_BATCH = 1_000
_CHUNK_BYTES = 1024 * 1024


class ObjectMissing(Exception):
    """There is no object with this key."""


class ObjectChanged(Exception):
    """The object was replaced since it was inspected."""


class RangeInvalid(Exception):
    """The object has no such part."""


class ObjectTooLarge(Exception):
    """The object is larger than the caller accepts."""


class ObjectStoreUnavailable(Exception):
    """The object store does not respond, or responds with an error. The request can be retried."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What `inspect` found when it read an object."""

    digest: digests.Digest
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An entry of a list."""

    key: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """The open content of an object, or of a part of it. Blocking: the caller must read it in a thread."""

    body: BinaryIO
    size: int
    """Of the part."""
    content_range: str | None


@dataclass(frozen=True, slots=True)
class SignedUpload:
    url: str
    headers: dict[str, str]
    """Must be sent with the object."""


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A bucket, and the credentials for it."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str

    def objects(self) -> "ObjectStore":
        return ObjectStore(self.endpoint, self.access_key, self.secret_key, self.bucket)


@functools.cache
def _api_descriptions() -> Loader:
    """Reads what botocore knows about the S3 API once. It is large, and every client needs it."""
    return create_loader()


class ObjectStore:
    def __init__(
        self, endpoint: str, access_key: str, secret_key: str, bucket: str, *, public_endpoint: str = ""
    ) -> None:
        self._bucket = bucket
        self._endpoint, self._public_endpoint = endpoint, public_endpoint or endpoint
        self._access_key, self._secret_key = access_key, secret_key
        self.location = StoreLocation(endpoint, access_key, secret_key, bucket)
        self._clients: dict[str, Any] = {}
        self._lock = Lock()

    @property
    def _client(self) -> Any:
        return self._client_at(self._endpoint)

    @property
    def _public(self) -> Any:
        """The client that presigns URLs for customers."""
        return self._client_at(self._public_endpoint)

    def _client_at(self, endpoint: str) -> Any:
        """Created on first use: creating a client is slow, and a program may not need one."""
        with self._lock:
            if endpoint not in self._clients:
                self._clients[endpoint] = self._create_client(endpoint)
            return self._clients[endpoint]

    def _create_client(self, endpoint: str) -> Any:
        if not endpoint:
            raise ObjectStoreUnavailable("no object store is configured")
        session = botocore.session.get_session()
        session.register_component("data_loader", _api_descriptions())
        return session.create_client(
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
        """Create the bucket if it does not exist."""
        try:
            await self._call(self._client.head_bucket, Bucket=self._bucket)
        except ObjectMissing:
            await self._call(self._client.create_bucket, Bucket=self._bucket)

    async def check_bucket(self) -> None:
        """Raises ObjectStoreUnavailable if the object store does not respond. The bucket may be missing."""
        with suppress(ObjectMissing):
            await self._call(self._client.head_bucket, Bucket=self._bucket)

    async def put(self, key: str, content: bytes) -> None:
        await self._call(self._client.put_object, Bucket=self._bucket, Key=key, Body=content)

    def put_file(self, key: str, content: IO[bytes]) -> None:
        """Store the rest of a file. Blocking: the caller must run it in a thread."""
        require_no_transaction("the object store")
        try:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content)
        except (ClientError, BotoCoreError, OSError) as error:
            raise _translate(error) from None

    async def put_new(self, key: str, content: bytes) -> bool:
        """Store an object unless there is one with this key. Returns whether it was stored."""
        try:
            await self._call(
                self._client.put_object, Bucket=self._bucket, Key=key, Body=content, IfNoneMatch="*"
            )
        except ObjectChanged:
            return False
        return True

    async def get(self, key: str, *, max_bytes: int) -> bytes:
        """The whole content of a small object. Raises ObjectTooLarge."""

        def read() -> bytes:
            with closing(self._open(key)) as body:
                content = bytes(body.read(max_bytes + 1))
            if len(content) > max_bytes:
                raise ObjectTooLarge(f"{key} is larger than {max_bytes} bytes")
            return content

        return await _in_thread(read)

    def read_chunks(self, key: str) -> Iterator[bytes]:
        """The content in chunks. Blocking: the caller must run it in a thread."""
        require_no_transaction("the object store")
        try:
            with closing(self._open(key)) as body:
                while chunk := body.read(_CHUNK_BYTES):
                    yield chunk
        except (ClientError, BotoCoreError, OSError) as error:
            raise _translate(error) from None

    async def open_part(self, key: str, byte_range: str | None = None) -> ObjectPart:
        """Open an object, or the part that a `Range` header describes. The caller closes the body."""
        more = {} if byte_range is None else {"Range": byte_range}
        found = await self._call(self._client.get_object, Bucket=self._bucket, Key=key, **more)
        return ObjectPart(found["Body"], int(found["ContentLength"]), found.get("ContentRange"))

    async def read_part(self, part: ObjectPart, size: int = _CHUNK_BYTES) -> bytes:
        """The next bytes of a part; empty at its end."""
        return await _in_thread(lambda: bytes(part.body.read(size)))

    async def inspect(self, key: str) -> ObjectInfo:
        """Read the whole object and compute its digest and size."""

        def read() -> ObjectInfo:
            response = self._client.get_object(Bucket=self._bucket, Key=key)
            with closing(response["Body"]) as body:
                digest, size = digests.of_file(body)
            return ObjectInfo(digest, size, response["ETag"])

        return await _in_thread(read)

    async def size(self, key: str) -> int:
        found = await self._call(self._client.head_object, Bucket=self._bucket, Key=key)
        return int(found["ContentLength"])

    async def list_names(self, prefix: str) -> AsyncGenerator[list[str], None]:
        """The keys of all objects with this prefix, in batches."""
        async for objects in self.list_objects(prefix):
            yield [each.key for each in objects]

    async def list_objects(self, prefix: str) -> AsyncGenerator[list[StoredObject], None]:
        """All objects with this prefix, in batches."""
        after = ""
        while True:
            found = await self._call(
                self._client.list_objects_v2, Bucket=self._bucket, Prefix=prefix, StartAfter=after
            )
            objects = [
                StoredObject(str(each["Key"]), int(each["Size"]), each["LastModified"])
                for each in found.get("Contents", [])
            ]
            if not objects:
                return
            yield objects
            after = objects[-1].key

    async def copy(self, inspected: ObjectInfo, key: str, to: str) -> None:
        """Copy an inspected object. Raises ObjectChanged if it was replaced since."""
        await self._call(
            self._client.copy_object,
            Bucket=self._bucket,
            Key=to,
            CopySource={"Bucket": self._bucket, "Key": key},
            CopySourceIfMatch=inspected.etag,
        )

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects. Missing objects are ignored."""
        for start in range(0, len(keys), _DELETE_BATCH):
            batch = [{"Key": key} for key in keys[start : start + _DELETE_BATCH]]
            response = await self._call(
                self._client.delete_objects, Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True}
            )
            if response.get("Errors"):
                raise ObjectStoreUnavailable(f"{len(response['Errors'])} objects were not deleted")

    def presigned_get_url(self, key: str, *, seconds: int) -> str:
        return self._presign(self._client, "get_object", key, seconds)

    def presign_download(self, key: str, *, seconds: int) -> str:
        """For customers."""
        return self._presign(self._public, "get_object", key, seconds)

    def presigned_put_url(self, key: str, *, seconds: int, size: int | None = None) -> str:
        """With a size the object store accepts only an object of exactly this size."""
        more = {} if size is None else {"ContentLength": size}
        return self._presign(self._client, "put_object", key, seconds, **more)

    def presign_upload(self, key: str, *, size: int, seconds: int) -> SignedUpload:
        """A URL for customers that accepts one object of exactly this size. The object store checks both: the
        length and `If-None-Match` are part of the signature, and the latter never replaces an object."""
        url = self._presign(self._public, "put_object", key, seconds, ContentLength=size, IfNoneMatch="*")
        return SignedUpload(url, {"Content-Length": str(size), "If-None-Match": "*"})

    def _presign(self, client: Any, method: str, key: str, seconds: int, **more: str | int) -> str:
        params = {"Bucket": self._bucket, "Key": key, **more}
        return str(client.generate_presigned_url(method, Params=params, ExpiresIn=seconds))

    def _open(self, key: str) -> BinaryIO:
        body: BinaryIO = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        return body

    async def _call(self, method: Callable[..., Any], **params: Any) -> Any:
        return await _in_thread(lambda: method(**params))


async def _in_thread(call: Callable[[], T]) -> T:
    require_no_transaction("the object store")
    try:
        return await asyncio.to_thread(call)
    except (ClientError, BotoCoreError, OSError) as error:
        raise _translate(error) from None


def _translate(error: Exception) -> Exception:
    """The message does not contain the request: a presigned URL is a secret while it is valid."""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
    if code in _MISSING:
        return ObjectMissing()
    if code in _CHANGED:
        return ObjectChanged()
    if code in _INVALID_RANGE:
        return RangeInvalid()
    return ObjectStoreUnavailable(code or type(error).__name__)
