"""Results reach the control plane, whatever is in them."""

from stead.node.reports import MAX_BYTES, build_message
from stead.protocol.commands import Result, read_result
from stead.protocol.work import Finding, ScanReport


def _result(findings: int) -> Result:
    found = Finding("wp-content/uploads/" + "a" * 3900, "a" * 64, "rule", "yara")
    return Result("node-1", "job_1", "scan", 1, "done", value=ScanReport((found,) * findings))


def test_a_result_that_no_server_accepts_is_sent_without_its_value() -> None:
    for findings, has_value in ((10, True), (500, False)):
        message = build_message(_result(findings))
        assert len(message) <= MAX_BYTES
        found = read_result(message)
        assert (found.outcome, found.value is not None) == ("done", has_value)
