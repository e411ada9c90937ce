"""The JSON shapes of functions."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.artifacts.schema import ArtifactIdText, Digest
from stead.control.functions.rules import MAX_SOURCE_BYTES, BuildState, Language

_SITE = "site_01k9zy3v7d00r3m8w5x2t6b4qa"
_JOB = "job_01k9zy3v7d00r3m8w5x2t6b4qa"
FunctionIdText = Annotated[str, Meta(examples=["fn_01k9zy3v7d00r3m8w5x2t6b4qa"])]
VersionIdText = Annotated[str, Meta(examples=["fnv_01k9zy3v7d00r3m8w5x2t6b4qa"])]

Slug = Annotated[
    str,
    Meta(
        description="Lowercase letters, digits and hyphens; unique in the site.",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        max_length=63,
        extra={"expected": "It has lowercase letters, digits and hyphens: guestbook."},
        examples=["guestbook"],
    ),
]
DisplayName = Annotated[str, Meta(min_length=1, max_length=100, examples=["Guestbook"])]
RoutePath = Annotated[
    str,
    Meta(
        description="The path that the function answers, and everything below it; `/_fn/<slug>` if empty.",
        max_length=200,
        examples=[""],
    ),
]
VariableName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$",
        examples=["GREETING"],
        extra={"expected": "It has at most 64 letters, digits and underscores: GREETING."},
    ),
]
VariableValue = Annotated[str, Meta(max_length=5120, examples=["hello"])]
Variables = Annotated[
    dict[VariableName, VariableValue],
    Meta(
        description="Variables of the function. For secrets, use `secret_refs`.",
        max_length=64,
        examples=[{"GREETING": "hello"}],
    ),
]
SecretRefs = Annotated[
    list[VariableName],
    Meta(
        description="Keys of secrets of the production environment, which the function reads as variables.",
        max_length=64,
        examples=[[]],
    ),
]
Source = Annotated[
    str,
    Meta(
        description="The source in a single file.",
        min_length=1,
        max_length=MAX_SOURCE_BYTES,
        examples=["export default { fetch: () => new Response('hello') };"],
    ),
]
Filename = Annotated[
    str,
    Meta(
        description="The name of the source, as compilers report it.",
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$",
        max_length=100,
        extra={"expected": "It has letters, digits, dots, underscores and hyphens: function.js."},
        examples=["function.js"],
    ),
]
UploadId = Annotated[
    str,
    Meta(
        description="Instead of `source`: an upload of the site with a folder, as a tar.gz or zip. `filename`"
        " names the file at its top that is compiled. Each upload can be built once.",
        max_length=64,
        examples=[None],
    ),
]
CompatibilityDate = Annotated[
    str,
    Meta(
        description="The interfaces of the platform behave as they did on this day, whatever changes later."
        " Applies from the next build on.",
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        extra={"expected": "It is a date: 2026-11-17."},
        examples=["2026-11-17"],
    ),
]
AutoDeploy = Annotated[
    bool, Meta(description="Whether the function is deployed when its build has succeeded.", examples=[True])
]
Fresh = Annotated[
    bool,
    Meta(
        description="Whether every request gets an instance of its own. Otherwise an instance handles up to"
        " 1,000 requests, one at a time.",
        examples=[False],
    ),
]


class BindingConfig(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which fields it has depends on the kind of the binding."""

    namespace: Annotated[
        str,
        Meta(
            description="Of `kv` and `coord`: functions of the site with the same namespace share its data.",
            pattern=r"^[a-z0-9][a-z0-9-]{0,62}$|^$",
            extra={"expected": "It has at most 63 lowercase letters, digits and hyphens: guestbook."},
            examples=["guestbook"],
        ),
    ] = ""
    allow: Annotated[
        list[Annotated[str, Meta(max_length=253, examples=["api.example.com"])]],
        Meta(description="Of `fetch`: `host`, `*.host` or `host:port`.", max_length=50, examples=[[]]),
    ] = []
    function: Annotated[
        str,
        Meta(
            description="Of `service`: the slug of another function of the site.",
            max_length=63,
            examples=[""],
        ),
    ] = ""


class Binding(Struct, forbid_unknown_fields=True):
    kind: Annotated[
        Literal["kv", "coord", "fetch", "service", "cron"],
        Meta(description="`cron` is refused: there are no scheduled functions.", examples=["kv"]),
    ]
    name: Annotated[VariableName, Meta(description="The name in `env`.", examples=["STORE"])]
    config: BindingConfig = BindingConfig()


Bindings = Annotated[list[Binding], Meta(max_length=32)]


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    memory_mb: Annotated[int, Meta(ge=8, le=512, examples=[64])] = 64
    wall_ms: Annotated[
        int, Meta(description="How long a request may take.", ge=10, le=30_000, examples=[1000])
    ] = 1000
    request_bytes: Annotated[int, Meta(ge=0, le=10 << 20, examples=[1 << 20])] = 1 << 20
    requests_per_second: Annotated[int, Meta(ge=1, le=10_000, examples=[100])] = 100


class NewFunction(Struct, forbid_unknown_fields=True):
    site_id: Annotated[str, Meta(description="A site with the profile `wasm`.", examples=[_SITE])]
    slug: Slug
    display_name: DisplayName
    language: Language = "javascript"
    bindings: Bindings = []
    secret_refs: SecretRefs = []
    env: Variables = {}
    limits: Limits = Limits()
    route_path: RoutePath = ""
    fresh_instances: Fresh = False
    compatibility_date: Annotated[
        CompatibilityDate | None, Meta(description="The day of its creation, unless told.", examples=[None])
    ] = None
    source: Source | None = None
    upload_id: UploadId | None = None
    filename: Filename | None = None
    auto_deploy: AutoDeploy = True


class FunctionChange(Struct, forbid_unknown_fields=True):
    """Absent fields stay as they are."""

    display_name: DisplayName | UnsetType = UNSET
    bindings: Bindings | UnsetType = UNSET
    secret_refs: SecretRefs | UnsetType = UNSET
    env: Variables | UnsetType = UNSET
    limits: Limits | UnsetType = UNSET
    route_path: RoutePath | UnsetType = UNSET
    fresh_instances: Fresh | UnsetType = UNSET
    compatibility_date: CompatibilityDate | UnsetType = UNSET


class NewFunctionBuild(Struct, forbid_unknown_fields=True):
    source: Annotated[Source | None, Meta(description="If absent, the stored source is built again.")] = None
    upload_id: UploadId | None = None
    filename: Filename | None = None
    auto_deploy: AutoDeploy = True


class NewFunctionDeployment(Struct, forbid_unknown_fields=True):
    artifact_id: Annotated[ArtifactIdText, Meta(description="An artifact that was built for this function.")]


class FunctionRollback(Struct, forbid_unknown_fields=True):
    version_id: Annotated[VersionIdText, Meta(description="A version of this function.")]


class FunctionView(Struct):
    id: FunctionIdText
    site_id: Annotated[str, Meta(examples=[_SITE])]
    slug: Slug
    display_name: DisplayName
    language: Language
    bindings: Bindings
    env: Variables
    secret_refs: SecretRefs
    limits: Limits
    route_path: RoutePath
    fresh_instances: Fresh
    compatibility_date: CompatibilityDate
    url: Annotated[
        str,
        Meta(
            description="Where it answers when it is deployed.",
            examples=["https://example.com/_fn/guestbook"],
        ),
    ]
    build_status: Annotated[BuildState, Meta(examples=["live"])]
    status_reason: Annotated[
        str | None, Meta(description="Why the last build or deployment failed.", examples=[None])
    ]
    active_version_id: Annotated[str | None, Meta(examples=["fnv_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    last_build_job_id: Annotated[str | None, Meta(examples=[_JOB])]
    last_artifact_id: Annotated[str | None, Meta(examples=["art_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    created_at: datetime
    updated_at: datetime


class FunctionVersionView(Struct):
    id: VersionIdText
    artifact_id: ArtifactIdText
    digest: Digest
    created_at: datetime
    active: Annotated[bool, Meta(description="Whether visitors get this version.", examples=[True])]
