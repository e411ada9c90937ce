"""What content is, and what can go wrong. No I/O."""

from typing import Literal

from stead.shared.errors import Conflict, NotFound

ContentType = Literal["post", "page", "media"]
FILE_SECONDS = 45.0
"""How long the API waits until WordPress has a file: it makes smaller pictures of a picture."""
ContentStatus = Literal["publish", "draft", "pending", "private", "future", "trash"]
WrittenStatus = Literal["publish", "draft", "pending", "private", "future"]


class ContentNotFound(NotFound):
    code = "content.not_found"
    message = "The post, page or file was not found."
    remedy = "List the content of the site with `GET …/content`."


class ContentFailed(Conflict):
    code = "content.failed"
    message = "No change could be made: {reason}"
    remedy = "Read the output of the job, which reports each change."
