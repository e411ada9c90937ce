"""The JSON shapes of environments."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.environments.rules import EnvironmentStatus, EnvironmentType
from stead.shared import branches
from stead.shared.sensitive import SENSITIVE

Branch = Annotated[str, Meta(min_length=1, max_length=branches.LONGEST)]
PushMode = Literal["files", "db", "full"]


class EnvironmentView(Struct):
    id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[
        EnvironmentType,
        Meta(
            description="`production` is returned only when it is requested by that name.",
            examples=["branch"],
        ),
    ]
    branch: Annotated[str | None, Meta(examples=["feature/checkout"])]
    git_ref: Annotated[
        str | None, Meta(description="The branch or tag of the live release.", examples=[None])
    ]
    subdomain: Annotated[str, Meta(examples=["example-com-x7k2-feature-checkout.preview.stead.example"])]
    status: Annotated[EnvironmentStatus, Meta(examples=["running"])]
    status_reason: Annotated[
        str | None, Meta(description="Why the environment is `failed`.", examples=[None])
    ]
    last_active: Annotated[datetime | None, Meta(description="The time of the last visit.", examples=[None])]
    lock_reason: Annotated[
        str | None, Meta(description="Why nothing is deployed to the environment.", examples=[None])
    ]
    locked_at: Annotated[datetime | None, Meta(description="Since when it is locked.", examples=[None])]
    created_at: datetime


class NewLock(Struct, forbid_unknown_fields=True):
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)",
            description="Shown to everyone who can see the environment.",
            examples=["The sale runs until Monday."],
            extra={"expected": "It is one line without control characters."},
        ),
    ]


class LockView(Struct):
    reason: Annotated[str, Meta(examples=["The sale runs until Monday."])]
    locked_at: datetime


class NewEnvironment(Struct, forbid_unknown_fields=True):
    type: Annotated[Literal["staging", "branch"], Meta(examples=["branch"])]
    branch: Annotated[
        Branch | None,
        Meta(
            description="Required for a branch environment, not allowed otherwise.",
            examples=["feature/checkout"],
        ),
    ] = None
    copy_uploads: Annotated[
        bool,
        Meta(description="Also copy the uploads of production. A static site has none.", examples=[False]),
    ] = False


class NewPush(Struct, forbid_unknown_fields=True):
    mode: Annotated[
        PushMode,
        Meta(description="`db` and `full` require a site with a database.", examples=["files"]),
    ] = "files"


class MailView(Struct):
    """A mail that an environment tried to send."""

    id: Annotated[str, Meta(examples=["mail_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    captured_at: datetime
    sender: Annotated[str, Meta(description="As the site has set it.", examples=["shop@example.com"])]
    recipients: Annotated[list[str], Meta(examples=[["customer@example.org"]])]
    subject: Annotated[str, Meta(examples=["Your order has been received"])]
    text: Annotated[
        str,
        Meta(
            description="The beginning of the text, or of the HTML if there is no text.", examples=["Hello"]
        ),
    ]
    size: Annotated[int, Meta(description="Of the whole message, in bytes.", examples=[2048])]


class LeaseView(Struct):
    metrics_token: Annotated[
        str,
        Meta(
            description="Returned only once.", examples=["stead_metrics_zT0k…"], extra_json_schema=SENSITIVE
        ),
    ]
    lease_expires_at: datetime
