"""The JSON shapes of sites."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from stead.control.domains.schema import ChallengeView
from stead.control.sites.capabilities import CAPABILITIES, CapabilityView
from stead.control.sites.rules import PhpVersion, Profile, SiteStatus
from stead.control.wordpress.schema import NewAdministrator
from stead.shared.runtimes import Runtime

SiteIdText = Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
TeamIdText = Annotated[str, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
Domain = Annotated[str, Meta(min_length=1, max_length=253, examples=["example.com"])]


GitUrl = Annotated[
    str,
    Meta(
        pattern=r"^(https://|ssh://|git@)[A-Za-z0-9][!-~]*$(?!\n)",
        max_length=1000,
        extra={
            "noun": "repository",
            "expected": "It is a URL that begins with https:// or ssh://, or git@host:path.",
        },
    ),
]
GitBranch = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$(?!\n)",
        max_length=200,
        extra={
            "noun": "branch or tag",
            "expected": "It has letters, digits, dots, slashes, hyphens and underscores: feature/checkout.",
        },
    ),
]


class SiteView(Struct):
    id: SiteIdText
    slug: Annotated[
        str,
        Meta(
            description="Assigned by the platform; safe in URLs and host names.",
            examples=["example-com-x7k2"],
        ),
    ]
    domain: Domain
    profile: Profile
    runtime: Runtime
    php_version: Annotated[str | None, Meta(examples=["8.3"])]
    region: Annotated[str, Meta(examples=["us-east"])]
    git_repo: Annotated[str | None, Meta(examples=["https://git.example.com/site.git"])]
    git_branch: Annotated[str | None, Meta(examples=["main"])]
    team_id: Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    project_id: Annotated[str | None, Meta(examples=[None])]
    status: SiteStatus
    status_reason: Annotated[str | None, Meta(description="Why the site is not `running`.", examples=[None])]
    recoverable_until: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime
    challenge: Annotated[
        ChallengeView | None,
        Meta(
            description="A DNS record that proves `domain`, also before it points here. Null once the"
            " domain is verified; `…/environments/production/domains` has the details.",
            examples=[None],
        ),
    ] = None


class SiteFilter(Struct):
    status: Annotated[
        SiteStatus | None,
        Meta(description="Only sites with this status. Deleted sites are listed only with `deleted`."),
    ] = None
    q: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="Only sites whose primary domain or slug contains this text.", examples=["shop"]),
    ] = None
    domain: Annotated[
        Annotated[str, Meta(max_length=253)] | None,
        Meta(description="Only the sites that have this domain.", examples=["example.com"]),
    ] = None


class NewSite(Struct, forbid_unknown_fields=True):
    domain: Annotated[
        Domain, Meta(description="Unique on the platform. Internationalized names are accepted.")
    ]
    profile: Annotated[Profile, Meta(description="Cannot be changed later.", examples=["static"])]
    php_version: Annotated[
        PhpVersion | None,
        Meta(description="Only for sites that run PHP; the default is `8.3`.", examples=[None]),
    ] = None
    region: Annotated[
        str,
        Meta(
            pattern=r"^[a-z][a-z0-9-]{1,40}$(?!\n)",
            examples=["us-east"],
            extra={"expected": "It has lower-case letters, digits and hyphens."},
        ),
    ] = "us-east"
    git_repo: Annotated[
        GitUrl | None,
        Meta(
            description="The https or ssh URL of a git repository; required for `git_managed`.",
            examples=[None],
        ),
    ] = None
    git_branch: Annotated[GitBranch | None, Meta(examples=[None])] = None
    team_id: Annotated[
        str | None, Meta(description="A team that you own or administer.", examples=[None])
    ] = None
    admin: Annotated[
        NewAdministrator | None,
        Meta(description="Only for sites that run WordPress.", examples=[None]),
    ] = None


class Deletion(Struct, forbid_unknown_fields=True):
    confirm_domain: Annotated[Domain, Meta(description="The domain of the site, to confirm the deletion.")]


class Transfer(Struct, forbid_unknown_fields=True):
    """Send exactly one of the two fields."""

    to_team_id: Annotated[str, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])] | UnsetType = UNSET
    to_client_id: Annotated[str, Meta(description="Your own account.", max_length=64)] | UnsetType = UNSET


class TransferredView(Struct):
    site_id: SiteIdText
    functions_transferred: Annotated[int, Meta(examples=[0])]


class CapabilitiesView(Struct):
    runtime: Runtime
    capabilities: Annotated[dict[str, CapabilityView], Meta(examples=[{"build": {"supported": True}}])]


class RuntimeView(Struct):
    runtime: Annotated[str, Meta(examples=["static"])]
    profiles: Annotated[list[str], Meta(examples=[["static"]])]
    status: Annotated[
        Literal["available", "planned"],
        Meta(
            description="`available`: a node of this installation runs such sites. `planned`: none does yet.",
            examples=["available"],
        ),
    ]
    capabilities: Annotated[dict[str, CapabilityView], Meta(examples=[{"build": {"supported": True}}])]


class RuntimesView(Struct):
    runtimes: list[RuntimeView]


RUNTIMES = (
    RuntimeView("cms", ["git_managed", "vanilla"], "planned", CAPABILITIES["cms"]),
    RuntimeView("static", ["static"], "planned", CAPABILITIES["static"]),
    RuntimeView("wasm", ["wasm"], "planned", CAPABILITIES["wasm"]),
    RuntimeView("drupal", [], "planned", {}),
    RuntimeView("node", [], "planned", {}),
)


def runtimes_view(available: Collection[str]) -> RuntimesView:
    return RuntimesView(
        [replace(each, status="available") if each.runtime in available else each for each in RUNTIMES]
    )
