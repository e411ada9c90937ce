"""Work that scans environments, and moves files to quarantine and back."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.protocol.work.base import Amount, RuntimeWork, WorkStruct

DetectionId = Annotated[str, Meta(pattern=r"^det_[0-9a-zA-Z]{1,40}$(?!\n)")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
Text = Annotated[str, Meta(max_length=4000, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
ShortText = Annotated[str, Meta(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
"""Without control characters: PostgreSQL refuses some of them, and the step would be repeated for ever."""
ComponentType = Literal["core", "plugin", "theme"]


class Component(Struct, frozen=True):
    """A part of a WordPress site: WordPress itself, a plugin or a theme."""

    type: ComponentType
    slug: ShortText
    name: ShortText
    version: ShortText
    """Empty if it says none."""


class Finding(Struct, frozen=True):
    """A file or row that is infected."""

    path: Text
    sha256: Sha256
    signature: ShortText
    engine: ShortText
    detail: ShortText = ""
    size: Amount = 0
    movable: bool = True
    """Whether it may be moved to the store. The main file of a plugin is not, nor is a row."""


class ScanReport(Struct, frozen=True, tag="scan_report"):
    """A complete scan. A scan whose engines have failed is refused, and has no report."""

    findings: Annotated[tuple[Finding, ...], Meta(max_length=700)] = ()
    components: Annotated[tuple[Component, ...], Meta(max_length=1000)] = ()
    held: Annotated[tuple[DetectionId, ...], Meta(max_length=2000)] = ()
    """The detections whose files are in the store of the node."""
    files: Amount = 0
    scanned: Amount = 0
    unchanged: Amount = 0
    failed: Amount = 0
    """Files without a result: they cannot be read, exceed a limit, or change all the time."""
    failures: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    omitted: Amount = 0
    """Findings that are not in the report."""
    unfinished: Amount = 0
    """Files of `failed` for which there was no time left. The next scan goes on with them."""
    bytes: Amount = 0
    milliseconds: Amount = 0
    clamd: ShortText = ""
    rules: ShortText = ""


class ScanEnvironment(RuntimeWork, frozen=True, tag="scan_environment"):
    """The files and rows of the environment were scanned. Nothing is changed. If an engine fails, the work is
    refused with `scan.engine_failed`."""

    result_type = ScanReport
    has_own_limit = True

    full: bool = False
    """Also what was clean at the last scan and has not changed."""
    ignored: tuple[Sha256, ...] = ()
    """The hashes of what the owner has declared to be clean."""
    hosts: tuple[str, ...] = ()
    """The hosts of the environment."""
    scheduled: bool = False
    """Whether the platform has asked for it. Scans that customers ask for do not keep it waiting."""


class QuarantineItem(WorkStruct, frozen=True):
    detection: DetectionId
    path: Text
    sha256: Sha256
    signature: ShortText = ""


class QuarantineOutcome(Struct, frozen=True):
    detection: DetectionId
    outcome: Literal["quarantined", "gone", "failed"]
    reason: ShortText = ""
    replaced: bool = False
    """Whether a file that is known to be good is in its place."""


class QuarantineReport(Struct, frozen=True, tag="quarantine_report"):
    items: Annotated[tuple[QuarantineOutcome, ...], Meta(max_length=700)] = ()


class QuarantineFiles(RuntimeWork, frozen=True, tag="quarantine_files"):
    """Each file is in the store of the node and not in the site, unless its content is not the one that was
    scanned."""

    result_type = QuarantineReport
    has_own_limit = True

    scan: str
    items: tuple[QuarantineItem, ...]


class RestoreFile(RuntimeWork, frozen=True, tag="restore_file"):
    """The file is in the site as it was, and not in the store. If that is not possible, the work is refused
    with `quarantine.failed`, and the file is still in the store."""

    has_own_limit = True

    detection: DetectionId
    path: str = ""
    """Where the file was, if its description could not be written."""
