"""What a new file of a site needs: an upload of the site, and a name."""

from msgspec import UNSET

from stead.control.content.schema import NewContent
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import object_name
from stead.protocol.questions import MAX_FILE_BYTES
from stead.shared.errors import FieldInvalid

URL_SECONDS = 120
_ONLY_MEDIA = ("source", "filename")
_NOT_MEDIA = ("slug", "date", "featured_media", "terms", "meta")


def require_none(wanted: NewContent, place: str = "") -> None:
    """Posts and pages have no file."""
    for name in _ONLY_MEDIA:
        if getattr(wanted, name) is not UNSET:
            raise FieldInvalid(param=f"{place}{name}", reason=f"Only `media` has `{name}`.")


async def presign(call: Call, env: VisibleEnvironment, wanted: NewContent) -> str:
    """The URL that the node gets the file from."""
    for name in _NOT_MEDIA:
        if getattr(wanted, name) is not UNSET:
            raise FieldInvalid(param=name, reason=f"A file has no `{name}`.")
    if wanted.filename is UNSET or "/" in wanted.filename or not wanted.filename.isprintable():
        raise FieldInvalid(param="filename", reason="A file needs a name, such as photo.jpg.")
    if wanted.source is UNSET or not await uploads.belongs_to_site(call.tx, wanted.source, env.site_id):
        raise FieldInvalid(param="source", reason="A file needs `source`: the id of an upload of this site.")
    if (await uploads.declared_size(call.tx, wanted.source) or 0) > MAX_FILE_BYTES:
        raise FieldInvalid(param="source", reason=f"A file may have {MAX_FILE_BYTES >> 20} MiB.")
    return call.context.objects.presigned_get_url(object_name(wanted.source), seconds=URL_SECONDS)
