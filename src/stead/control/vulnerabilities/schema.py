"""The JSON shapes of vulnerabilities."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from stead.control.vulnerabilities.rules import InventoryStatus


class VulnerabilityView(Struct):
    vuln_id: Annotated[str, Meta(examples=["3f1b8c0e-5a77-4d0e-9a3a-6f0d2b1c4e5f"])]
    title: Annotated[str, Meta(examples=["Shop Kit <= 1.2.3 - Reflected Cross-Site Scripting"])]
    component_type: Annotated[str, Meta(description="`core`, `plugin` or `theme`.", examples=["plugin"])]
    component_name: Annotated[str, Meta(description="As the site calls it.", examples=["Shop Kit"])]
    component_slug: Annotated[str, Meta(examples=["shop-kit"])]
    installed_version: Annotated[str, Meta(examples=["1.2.3"])]
    affected_range: Annotated[str, Meta(examples=["* - 1.2.3"])]
    fixed_version: Annotated[str | None, Meta(examples=["1.2.4"])]
    patched: Annotated[bool, Meta(examples=[True])]
    cvss_score: Annotated[float | None, Meta(examples=[6.1])]
    cvss_rating: Annotated[str, Meta(examples=["medium"])]
    cve: Annotated[str | None, Meta(examples=["CVE-2026-12345"])]
    remediation: Annotated[str | None, Meta(examples=["Update to version 1.2.4, or a newer patched version"])]
    record_url: Annotated[
        str | None, Meta(examples=["https://www.wordfence.com/threat-intel/vulnerabilities/id/3f1b"])
    ]
    copyrights: Annotated[
        dict[str, Any],
        Meta(
            description="Whose record it is, with notices and licences. Show them with the record.",
            examples=[{}],
        ),
    ]
    opened_at: datetime


class UnknownComponent(Struct):
    component_type: Annotated[str, Meta(examples=["plugin"])]
    component_slug: Annotated[str, Meta(examples=["own-plugin"])]
    component_name: Annotated[str, Meta(examples=["Own Plugin"])]


class VulnerabilitySummary(Struct):
    critical: Annotated[int, Meta(examples=[0])]
    high: Annotated[int, Meta(examples=[0])]
    medium: Annotated[int, Meta(examples=[1])]
    low: Annotated[int, Meta(examples=[0])]
    total: Annotated[int, Meta(description="Also those without a rating.", examples=[1])]
    checked_at: Annotated[
        datetime | None,
        Meta(
            description="When the feed was last read completely. Null if it never was: then nothing is known."
        ),
    ]
    inventory_status: Annotated[
        InventoryStatus,
        Meta(
            description="`missing`: the components of the site are not known yet. `unknown_versions`:"
            " nothing can be said about the components in `unknown`.",
            examples=["complete"],
        ),
    ]
    inventory_at: datetime | None
    feed_error: Annotated[
        str | None,
        Meta(
            description="Why the feed could not be read last time.",
            examples=["The feed ends too early."],
        ),
    ]


class VulnerabilitiesView(Struct):
    summary: VulnerabilitySummary
    findings: Annotated[list[VulnerabilityView], Meta(description="The worst first. At most 500.")]
    unknown: Annotated[list[UnknownComponent], Meta(description="Components whose version is unknown.")]
    attribution: Annotated[
        dict[str, Any],
        Meta(
            description="The notices and licences of the sources of the feed, by source: `notice`, `license`"
            " and `license_url`.",
            examples=[
                {
                    "defiant": {
                        "notice": "Copyright of the source",
                        "license": "The licence of the source",
                        "license_url": "https://www.wordfence.com/wordfence-intelligence-terms-and-conditions/",
                    }
                }
            ],
        ),
    ]
