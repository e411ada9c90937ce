"""The JSON shapes of components: what a site answers, and what the API shows."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.components.rules import BatchAction, ComponentType, Kind, Status

ComponentIdText = Annotated[str, Meta(examples=["comp_p1f0a9e5b7d4286a0c4e8f2d6b"])]
Slug = Annotated[str, Meta(min_length=1, max_length=200, examples=["akismet"])]
Version = Annotated[str, Meta(max_length=100, examples=["5.3.1"])]


class SiteComponent(Struct, frozen=True):
    """A component as the site describes it."""

    id: Annotated[str, Meta(pattern=r"^comp_[0-9a-z]{26}\Z")]
    kind: Kind
    type: ComponentType
    slug: Slug
    file: Annotated[str, Meta(min_length=1, max_length=400)]
    name: Annotated[str, Meta(max_length=200)]
    version: Version
    status: Status
    update_available: Version | None


class SiteComponents(Struct, frozen=True):
    components: Annotated[list[SiteComponent], Meta(max_length=2000)]


class ComponentFilter(Struct, frozen=True):
    kind: Annotated[Kind | None, Meta(description="Only components of this kind.")] = None
    status: Annotated[Status | None, Meta(description="Only components with this status.")] = None


class ComponentView(Struct):
    id: ComponentIdText
    kind: Annotated[Kind, Meta(examples=["plugin"])]
    type: Annotated[
        ComponentType,
        Meta(
            description="`must_use` and `drop_in` plugins are always active. WordPress cannot deactivate or"
            " update them.",
            examples=["regular"],
        ),
    ]
    slug: Slug
    name: Annotated[str, Meta(examples=["Akismet Anti-spam"])]
    version: Version
    status: Annotated[Status, Meta(examples=["active"])]
    update_available: Annotated[
        str | None, Meta(description="The version that WordPress offers.", examples=["5.4"])
    ]
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]


WantedVersion = Annotated[
    str, Meta(min_length=1, max_length=100, description="`latest`, or a version.", examples=["latest"])
]


Force = Annotated[bool, Meta(description="Also a version that has a known vulnerability.", examples=[False])]


class NewComponent(Struct, forbid_unknown_fields=True):
    kind: Annotated[
        Kind, Meta(description="A theme also needs the scope `cms.themes:write`.", examples=["plugin"])
    ]
    slug: Slug
    source: Annotated[
        str,
        Meta(
            max_length=64,
            description="`registry`, or the id of an upload that is a zip file with the directory of the"
            " plugin or theme.",
            examples=["registry"],
        ),
    ] = "registry"
    version: WantedVersion = "latest"
    activate: Annotated[bool, Meta(examples=[False])] = False
    force: Force = False


class ComponentUpdate(Struct, forbid_unknown_fields=True):
    """A version, a status, or both."""

    version: WantedVersion | UnsetType = UNSET
    status: Annotated[Status, Meta(examples=["active"])] | UnsetType = UNSET
    force: Force = False


class ComponentOperation(Struct, forbid_unknown_fields=True):
    action: Annotated[BatchAction, Meta(examples=["update"])]
    kind: Annotated[Kind, Meta(examples=["plugin"])]
    slug: Slug
    version: WantedVersion | UnsetType = UNSET
    force: Force = False


class ComponentBatch(Struct, forbid_unknown_fields=True):
    operations: Annotated[list[ComponentOperation], Meta(min_length=1, max_length=20)]
