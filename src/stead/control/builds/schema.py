"""The JSON shapes of builds."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.artifacts.schema import Commit, Ref
from stead.control.builds.rules import BuildStatus
from stead.control.sites.schema import GitBranch

BuildIdText = Annotated[str, Meta(examples=["build_01k9zy3v7d00r3m8w5x2t6b4qa"])]

CommitId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{7,64}$(?!\n)",
        extra={
            "noun": "commit",
            "expected": "Use its hash, in lower case, with at least 7 characters: 9fceb02d.",
        },
    ),
]
Source = Annotated[
    str,
    Meta(
        pattern=r"^[!-~]{1,2000}$(?!\n)",
        extra={"expected": "It has 1 to 2000 ASCII characters and no spaces."},
    ),
]


class NewBuild(Struct, forbid_unknown_fields=True):
    builder: Annotated[
        str,
        Meta(
            description="`static` for static sites, `cms` for git-managed ones.",
            min_length=1,
            max_length=40,
            examples=["static"],
        ),
    ]
    source_ref: Annotated[
        GitBranch | None,
        Meta(description="A branch or tag. The default is the branch of the environment.", examples=[None]),
    ] = None
    commit: Annotated[
        CommitId | None,
        Meta(description="Build exactly this commit.", examples=[None]),
    ] = None
    source: Annotated[
        Source | None,
        Meta(
            description="Instead of the repository: the id of an upload, or the https URL of an archive.",
            examples=["https://example.com/site.tar.gz"],
        ),
    ] = None
    auto_deploy: Annotated[
        bool,
        Meta(
            description="Deploy the artifact to this environment when the build has succeeded.",
            examples=[False],
        ),
    ] = False


class BuildView(Struct):
    id: BuildIdText
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    status: BuildStatus
    builder: Annotated[str, Meta(examples=["static"])]
    source: Annotated[
        str,
        Meta(
            description="`git`, the id of an upload, or the URL of an archive without its query.",
            examples=["git"],
        ),
    ]
    ref: Ref
    commit: Commit
    author: Annotated[str | None, Meta(description="The author of the commit.", examples=["Ada Lovelace"])]
    message: Annotated[
        str | None, Meta(description="The message of the commit.", examples=["A new front page."])
    ]
    artifact_id: Annotated[
        str | None,
        Meta(description="Set once the build has succeeded.", examples=["art_01k9zy3v7d00r3m8w5x2t6b4qa"]),
    ]
    job_id: Annotated[str | None, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    auto_deploy: Annotated[bool, Meta(examples=[False])]
    error: Annotated[
        str | None,
        Meta(description="Why the build failed, or why its artifact was not deployed.", examples=[None]),
    ]
    skipped: Annotated[
        bool,
        Meta(
            description="Nothing was built, because nothing that the live release is built from has changed.",
            examples=[False],
        ),
    ]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
