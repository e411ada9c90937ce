"""`stead insights`: web vitals and requests as small charts."""

from typing import Any

import click

from stead_cli.charts import bars, width_of_terminal
from stead_cli.session import Command, Session
from stead_sdk import types

_LABEL = 22
_RATINGS = {
    "LCP": (2500.0, 4000.0, "ms"),
    "FCP": (1800.0, 3000.0, "ms"),
    "INP": (200.0, 500.0, "ms"),
    "TTFB": (800.0, 1800.0, "ms"),
    "CLS": (0.1, 0.25, ""),
}
"""Up to the first it is good, above the second it is poor."""


def _insights(session: Session, days: int, hours: int, metric: str) -> None:
    insights, place = session.client.insights, (session.site_id, session.env_id)
    summary = insights.summary_of_environment(*place, days=days)
    volume = insights.requests_volume_of_environment(*place, hours=hours)
    series = insights.timeseries_of_environment(*place, days=days, metric=metric)
    if session.as_json:
        session.show(
            {"summary": summary.to_dict(), "requests": volume.to_dict(), "timeseries": series.to_dict()}
        )
        return
    width = width_of_terminal(_LABEL)
    session.show(f"Requests, last {volume.hours} hours")
    _line(session, f"all        {volume.requests}", [each.requests for each in volume.buckets], width)
    _line(session, f"failed     {volume.errors}", [each.errors for each in volume.buckets], width)
    session.show(f"\nServer, last {summary.days} days")
    session.show(
        f"  first byte p75 {_number(summary.server.p75_ttfb_ms)} ms, p95"
        f" {_number(summary.server.p95_ttfb_ms)} ms, cache {_number(summary.server.cache_hit_pct)} %"
    )
    session.show(f"\nWeb vitals (p75), last {summary.days} days")
    for vital in summary.rum:
        session.show(f"  {_vital(vital)}")
    if series.points:
        session.show(f"\n{metric} (p75) over time")
        _line(session, "", [each.p75 for each in series.points], width)
    for gap in summary.gaps:
        session.say(f"Something may be missing between {gap.start} and {gap.end}.")


def _line(session: Session, label: str, values: list[Any], width: int) -> None:
    session.show(f"  {label:<{_LABEL - 3}} {bars(values, width)}".rstrip())


def _vital(vital: types.Vital) -> str:
    good, poor, unit = _RATINGS.get(vital.metric, (0.0, 0.0, ""))
    if vital.p75 is None:
        return f"{vital.metric:<5} not enough page views ({vital.samples})"
    rating = "good" if vital.p75 <= good else "poor" if vital.p75 > poor else "needs improvement"
    value = f"{_number(vital.p75)} {unit}".strip()
    return f"{vital.metric:<5} {value:<10} {rating if poor else ''} ({vital.samples} page views)"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 10 else f"{value:.0f}"


insights = Command(
    "insights",
    callback=_insights,
    params=[
        click.Option(["--days"], type=int, default=30, show_default=True, help="For web vitals."),
        click.Option(["--hours"], type=int, default=24, show_default=True, help="For requests."),
        click.Option(
            ["--metric"], type=click.Choice(tuple(_RATINGS)), default="LCP", help="Shown over time."
        ),
    ],
    site=True,
    environment=True,
    help="Show requests and web vitals of an environment. `stead insights NAME` runs one view:"
    " `stead insights requests --json`.",
)
