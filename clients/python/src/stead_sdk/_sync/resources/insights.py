# Generated from `_async/resources/insights.py` by `make generate`.
"""Insights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.live import LiveEvent, follow_live
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator


class Insights(Resource):
    def summary_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
    ) -> types.Summary:
        """Get the web vitals, and how fast the server answers.

        For a site, those of its production environment. Percentiles are of page views; with fewer than 50
        of them they are `null`.

        Scopes: `observability:read`.
        """
        return returned(
            types.Summary,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/summary",
                query={"days": days, "from": from_, "to": to},
            ),
        )

    def summary(
        self,
        site_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
    ) -> types.Summary:
        """Get the web vitals, and how fast the server answers.

        For a site, those of its production environment. Percentiles are of page views; with fewer than 50
        of them they are `null`.

        Scopes: `observability:read`.
        """
        return returned(
            types.Summary,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/summary",
                query={"days": days, "from": from_, "to": to},
            ),
        )

    def timeseries_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
        metric: types.VitalMetric | Omit = OMIT,
    ) -> types.Timeseries:
        """Get one of the web vitals over time.

        For a site, that of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Timeseries,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/timeseries",
                query={"days": days, "from": from_, "to": to, "metric": metric},
            ),
        )

    def timeseries(
        self,
        site_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
        metric: types.VitalMetric | Omit = OMIT,
    ) -> types.Timeseries:
        """Get one of the web vitals over time.

        For a site, that of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Timeseries,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/timeseries",
                query={"days": days, "from": from_, "to": to, "metric": metric},
            ),
        )

    def pages_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
        metric: types.PagesMetric | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Pages:
        """List the pages with one of their web vitals.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Pages,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/pages",
                query={"days": days, "from": from_, "to": to, "metric": metric, "limit": limit},
            ),
        )

    def pages(
        self,
        site_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
        metric: types.PagesMetric | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Pages:
        """List the pages with one of their web vitals.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Pages,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/pages",
                query={"days": days, "from": from_, "to": to, "metric": metric, "limit": limit},
            ),
        )

    def traces_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        status: str | Omit | None = OMIT,
        min_duration_ms: int | Omit | None = OMIT,
        service: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Traces:
        """List the latest spans of traced requests.

        For a site, those of its production environment. `trace_sample_rate` says how many requests of the
        application are traced. Requests that fail or take longer than a second always are.

        Scopes: `observability:read`.
        """
        return returned(
            types.Traces,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/traces",
                query={
                    "hours": hours,
                    "status": status,
                    "min_duration_ms": min_duration_ms,
                    "service": service,
                    "limit": limit,
                },
            ),
        )

    def traces(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        status: str | Omit | None = OMIT,
        min_duration_ms: int | Omit | None = OMIT,
        service: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Traces:
        """List the latest spans of traced requests.

        For a site, those of its production environment. `trace_sample_rate` says how many requests of the
        application are traced. Requests that fail or take longer than a second always are.

        Scopes: `observability:read`.
        """
        return returned(
            types.Traces,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/traces",
                query={
                    "hours": hours,
                    "status": status,
                    "min_duration_ms": min_duration_ms,
                    "service": service,
                    "limit": limit,
                },
            ),
        )

    def trace_of_environment(self, site_id: str, env_id: str, trace_id: str) -> types.Trace:
        """Get a trace, span by span.

        For a site, one of its production environment. A request that was not traced has no spans, nor has
        one whose spans have not arrived yet.

        Scopes: `observability:read`.
        """
        return returned(
            types.Trace,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/traces/{in_path(trace_id)}",
            ),
        )

    def trace(self, site_id: str, trace_id: str) -> types.Trace:
        """Get a trace, span by span.

        For a site, one of its production environment. A request that was not traced has no spans, nor has
        one whose spans have not arrived yet.

        Scopes: `observability:read`.
        """
        return returned(
            types.Trace,
            self._client._call("GET", f"/v1/sites/{in_path(site_id)}/insights/traces/{in_path(trace_id)}"),
        )

    def requests_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        method: str | Omit | None = OMIT,
        status: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        bots: types.Bots | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Requests:
        """List the latest requests of visitors.

        For a site, those of its production environment. Every request is there, none are sampled. Addresses
        are cut to networks, and query strings are not recorded.

        With `Accept: text/event-stream`: an event `request` for each new one that meets the filters.

        Scopes: `observability:read`.
        """
        return returned(
            types.Requests,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/requests",
                query={
                    "hours": hours,
                    "method": method,
                    "status": status,
                    "q": q,
                    "bots": bots,
                    "limit": limit,
                },
            ),
        )

    def follow_requests_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        method: str | Omit | None = OMIT,
        status: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        bots: types.Bots | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> Iterator[LiveEvent[types.Request]]:
        """Follow what is new: list the latest requests of visitors.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client,
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/requests",
            {"hours": hours, "method": method, "status": status, "q": q, "bots": bots, "limit": limit},
            types.Request,
        )

    def requests(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        method: str | Omit | None = OMIT,
        status: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        bots: types.Bots | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Requests:
        """List the latest requests of visitors.

        For a site, those of its production environment. Every request is there, none are sampled. Addresses
        are cut to networks, and query strings are not recorded.

        With `Accept: text/event-stream`: an event `request` for each new one that meets the filters.

        Scopes: `observability:read`.
        """
        return returned(
            types.Requests,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/requests",
                query={
                    "hours": hours,
                    "method": method,
                    "status": status,
                    "q": q,
                    "bots": bots,
                    "limit": limit,
                },
            ),
        )

    def follow_requests(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        method: str | Omit | None = OMIT,
        status: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        bots: types.Bots | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> Iterator[LiveEvent[types.Request]]:
        """Follow what is new: list the latest requests of visitors.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client,
            f"/v1/sites/{in_path(site_id)}/insights/requests",
            {"hours": hours, "method": method, "status": status, "q": q, "bots": bots, "limit": limit},
            types.Request,
        )

    def requests_volume_of_environment(
        self, site_id: str, env_id: str, *, hours: int | Omit = OMIT, bots: types.Bots | Omit = OMIT
    ) -> types.RequestVolume:
        """Count the requests and errors over time.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.RequestVolume,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/requests/volume",
                query={"hours": hours, "bots": bots},
            ),
        )

    def requests_volume(
        self, site_id: str, *, hours: int | Omit = OMIT, bots: types.Bots | Omit = OMIT
    ) -> types.RequestVolume:
        """Count the requests and errors over time.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.RequestVolume,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/requests/volume",
                query={"hours": hours, "bots": bots},
            ),
        )

    def logs_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        limit: int | Omit = OMIT,
        severity: types.LogSeverity | Omit | None = OMIT,
        container: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        trace_id: str | Omit | None = OMIT,
    ) -> types.Logs:
        """List the latest log lines of the application.

        For a site, those of its production environment. Static sites have no application, and no lines.

        With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.

        Scopes: `observability:read`.
        """
        return returned(
            types.Logs,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/logs",
                query={
                    "hours": hours,
                    "limit": limit,
                    "severity": severity,
                    "container": container,
                    "q": q,
                    "trace_id": trace_id,
                },
            ),
        )

    def follow_logs_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        limit: int | Omit = OMIT,
        severity: types.LogSeverity | Omit | None = OMIT,
        container: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        trace_id: str | Omit | None = OMIT,
    ) -> Iterator[LiveEvent[types.LogLine]]:
        """Follow what is new: list the latest log lines of the application.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client,
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/logs",
            {
                "hours": hours,
                "limit": limit,
                "severity": severity,
                "container": container,
                "q": q,
                "trace_id": trace_id,
            },
            types.LogLine,
        )

    def logs(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        limit: int | Omit = OMIT,
        severity: types.LogSeverity | Omit | None = OMIT,
        container: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        trace_id: str | Omit | None = OMIT,
    ) -> types.Logs:
        """List the latest log lines of the application.

        For a site, those of its production environment. Static sites have no application, and no lines.

        With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.

        Scopes: `observability:read`.
        """
        return returned(
            types.Logs,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/logs",
                query={
                    "hours": hours,
                    "limit": limit,
                    "severity": severity,
                    "container": container,
                    "q": q,
                    "trace_id": trace_id,
                },
            ),
        )

    def follow_logs(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        limit: int | Omit = OMIT,
        severity: types.LogSeverity | Omit | None = OMIT,
        container: str | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        trace_id: str | Omit | None = OMIT,
    ) -> Iterator[LiveEvent[types.LogLine]]:
        """Follow what is new: list the latest log lines of the application.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client,
            f"/v1/sites/{in_path(site_id)}/insights/logs",
            {
                "hours": hours,
                "limit": limit,
                "severity": severity,
                "container": container,
                "q": q,
                "trace_id": trace_id,
            },
            types.LogLine,
        )

    def logs_volume_of_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        hours: int | Omit = OMIT,
        severity: types.LogVolumeSeverity | Omit | None = OMIT,
    ) -> types.LogVolume:
        """Count the log lines over time, by severity.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.LogVolume,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/logs/volume",
                query={"hours": hours, "severity": severity},
            ),
        )

    def logs_volume(
        self,
        site_id: str,
        *,
        hours: int | Omit = OMIT,
        severity: types.LogVolumeSeverity | Omit | None = OMIT,
    ) -> types.LogVolume:
        """Count the log lines over time, by severity.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.LogVolume,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/insights/logs/volume",
                query={"hours": hours, "severity": severity},
            ),
        )

    def resources_of_environment(
        self, site_id: str, env_id: str, *, hours: int | Omit = OMIT
    ) -> types.Resources:
        """Get what the containers use, and how the application answers, over time.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Resources,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/insights/resources",
                query={"hours": hours},
            ),
        )

    def resources(self, site_id: str, *, hours: int | Omit = OMIT) -> types.Resources:
        """Get what the containers use, and how the application answers, over time.

        For a site, those of its production environment.

        Scopes: `observability:read`.
        """
        return returned(
            types.Resources,
            self._client._call(
                "GET", f"/v1/sites/{in_path(site_id)}/insights/resources", query={"hours": hours}
            ),
        )
