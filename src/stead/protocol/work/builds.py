"""Work that builds artifacts."""

from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta, Struct

from stead.protocol.work.base import NodeWork, WorkStruct

Builder = Literal["cms", "static", "wasm"]
BUILDERS: tuple[Builder, ...] = get_args(Builder)
"""What a builder makes."""


class GitSource(WorkStruct, frozen=True, tag="git"):
    """A commit of a repository: the given one, or else the head of the ref."""

    secret_fields: ClassVar[tuple[str, ...]] = ("key",)

    url: str
    ref: str
    commit: str = ""
    key: str = ""
    """The private key for a repository over ssh. Only the fetch uses it; the build never sees it."""


class ArchiveSource(WorkStruct, frozen=True, tag="archive"):
    """A tar, tar.gz or zip."""

    secret_fields: ClassVar[tuple[str, ...]] = ("url",)

    url: str
    ours: bool = False
    """In the installation's object store, by a signed URL. Any other address must be public."""


FunctionLanguage = Literal["javascript", "typescript", "rust", "tinygo", "go", "c", "zig", "swift"]
Filename = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$(?!\n)")]


class InlineSource(WorkStruct, frozen=True, tag="inline"):
    """A single file."""

    filename: Filename
    content: str


class FunctionBuild(WorkStruct, frozen=True):
    """How a function is compiled."""

    language: FunctionLanguage
    filename: Filename | None = None
    """The file in the source that is compiled; if there is none, it is looked for."""
    compatibility_date: Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?\Z")] = ""


MOST_PHP_REQUIREMENTS, LONGEST_PHP_REQUIREMENT = 100, 100
"""How many a release may have, and how many characters the texts of each."""


class PhpRequirement(Struct, frozen=True):
    """Which versions of PHP the code of a release is for, as Composer's files say it."""

    constraint: str
    package: str = ""
    """Whose requirement it is; empty for the project itself."""

    @property
    def is_plain(self) -> bool:
        """Whether it can be stored and shown: customers write these texts."""
        return all(
            len(text) <= LONGEST_PHP_REQUIREMENT and text.isprintable()
            for text in (self.constraint, self.package)
        )


class BuildResult(Struct, frozen=True, tag="build"):
    """What a node reports about a build. The control plane verifies all of it that it can."""

    digest: str
    size: int
    diff_id: str
    files: int
    bytes: int
    """Of the content of all files."""
    directories: int = 0
    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""
    php: tuple[PhpRequirement, ...] = ()
    source_digest: str = ""
    """Of everything in the commit that the site was built from; empty if the source is not a repository."""
    unchanged: bool = False
    """Nothing was built, because the source is the one that the command names."""


class Build(NodeWork, frozen=True, tag="build"):
    """The source is built in a sandbox, and the packed output is uploaded to `layer_url`."""

    result_type = BuildResult
    unsupported_code = "build.unavailable"
    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("layer_url", "variables", "plain_variables")

    builder: Builder
    source: GitSource | ArchiveSource | InlineSource
    layer_url: str
    """Where to upload the layer; signed by the control plane for this object only."""
    variables: tuple[tuple[str, str], ...] = ()
    """Secret environment variables of the build; their values are masked in its output."""
    plain_variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that are not masked. A secret of the same name replaces one."""
    platform_variables: tuple[tuple[str, str], ...] = ()
    """What the platform tells the build about itself. No secrets; they replace others of the same name."""
    unchanged_source: str = ""
    """The `source_digest` of the live release. If the source has it, too, nothing is built."""
    function: FunctionBuild | None = None
    """For the builder of functions."""

    @property
    def variant(self) -> str:
        return self.builder
