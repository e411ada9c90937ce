"""Matches what browsers have measured with the page views that the ledger has.

A message counts only if it names a page view of the same environment that this node has seen, and only once
for each. So nobody can send more of them than there were page views, and the path and the kind of device come
from the ledger, not from the browser.
"""

import re

from stead.node.telemetry.agents import reduce_agent
from stead.node.telemetry.ledger_rows import LedgerLine, escape
from stead.node.telemetry.page_views import PageView, PageViews
from stead.node.telemetry.spool import NewRows
from stead.node.visits import VITALS_PATH
from stead.protocol.telemetry import TIME_DIGITS

ACCEPTED_STATUS = 204
_MESSAGE = re.compile(r"([0-9a-f]{32})((?:;(?:LCP|FCP|CLS|INP|TTFB)=\d{1,5}\.\d{4})+)")
_FILE = re.compile(r"\.(?!html?$|php$)[A-Za-z0-9]{1,5}$")


def is_measurement(visit: LedgerLine) -> bool:
    """Whether the edge has accepted it as what a browser has measured. It is not a request for a page, so it
    is not listed among them; one that the edge has refused is."""
    return visit.path == VITALS_PATH and visit.status == ACCEPTED_STATUS


class Vitals:
    def __init__(self) -> None:
        self._page_views = PageViews()
        self._received: list[LedgerLine] = []
        """Since rows were last taken: at most what is read from the ledger at once."""
        self._waiting: list[LedgerLine] = []
        """Messages without a page view. A worker of nginx may write later than another one, so they are
        looked at once more."""
        self.refused = 0

    def add_page_view(self, visit: LedgerLine) -> None:
        if visit.method != "GET" or not 200 <= visit.status < 400 or _FILE.search(visit.path):
            return
        device = reduce_agent(visit.agent).device
        self._page_views.add(visit.environment, visit.trace, PageView(visit.release, visit.path, device))

    def receive(self, visit: LedgerLine) -> None:
        if visit.vitals:
            self._received.append(visit)

    def take_rows(self) -> NewRows:
        """The values of the messages that belong to a page view."""
        rows = NewRows("vitals")
        waiting = [visit for visit in self._received if not self._add(rows, visit)]
        for visit in self._waiting:
            if not self._add(rows, visit):
                self.refused += 1
        self._received, self._waiting = [], waiting
        return rows

    def _add(self, rows: NewRows, visit: LedgerLine) -> bool:
        message = _MESSAGE.fullmatch(visit.vitals)
        if message is None:
            return False
        page_view = self._page_views.take(visit.environment, message[1])
        if page_view is None:
            return False
        before = (
            f"{visit.ts:0{TIME_DIGITS}.3f}\t{escape(page_view.release)}\t{escape(page_view.path)}"
            f"\t{page_view.device}\t"
        )
        for value in message[2][1:].split(";"):
            metric, _, number = value.partition("=")
            rows.add(visit.environment, visit.ts, f"{before}{metric}\t{number}\n".encode("utf-8", "replace"))
        return True
