"""Stops the stack that the tests of this package share; a test that needs it afterwards starts it again."""

from stead.dev.ports import is_free
from tests.dev.up import NAMES, Up, curl_line, dev, up


def test_ctrl_c_stops_everything_and_the_next_up_reuses_ports_and_account(everything: Up) -> None:
    first, scratch = everything, everything.data
    record, processes = first.record(), first.processes()
    assert len(processes) == len(NAMES)
    assert first.interrupt() == 0
    assert not [process for process in processes if process.is_alive()]
    assert all(is_free(port) for port in record.ports.values())
    status = dev(scratch, "status")
    assert (status.returncode, "nothing runs" in status.stdout) == (3, True)

    with up(scratch) as second:
        second.until("curl -s")
        assert second.record().ports == record.ports
        assert curl_line(second.lines) == curl_line(first.lines)
        processes = second.processes()
        down = dev(scratch, "down")
        assert (down.returncode, down.stdout) == (0, "stopped\n")
        assert not [process for process in processes if process.is_alive()]
        assert second.end() == 0
