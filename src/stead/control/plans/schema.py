"""The JSON shapes of plans."""

from typing import Annotated

from msgspec import Meta, Struct


class PlanLimitsView(Struct):
    max_sites: Annotated[int, Meta(examples=[5])]
    max_environments: Annotated[int, Meta(examples=[15])]
    max_branches_per_site: Annotated[int, Meta(examples=[10])]
    max_concurrent_jobs: Annotated[int, Meta(examples=[4])]
    max_storage_gb: Annotated[int, Meta(examples=[25])]


class UsageView(Struct):
    sites: Annotated[int, Meta(examples=[2])]
    environments: Annotated[int, Meta(examples=[0])]
    storage_gb: Annotated[float, Meta(examples=[0.0])]


class PlanView(Struct):
    plan: Annotated[str, Meta(examples=["pro"])]
    label: Annotated[str, Meta(examples=["Pro"])]
    limits: PlanLimitsView
    usage: UsageView
