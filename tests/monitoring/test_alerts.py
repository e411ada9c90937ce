"""The alert rules do what their documentation says, and use only metrics that exist."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitoring.declarations import all_declared, series_names

ROOT = Path(__file__).parents[2]
RULES, RULE_TESTS = ROOT / "monitoring" / "alerts.yml", ROOT / "monitoring" / "alerts.test.yml"
PAGE = (ROOT / "docs" / "monitoring.md").read_text()
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
]
NAMES = [rule["alert"] for rule in ALERTS]
# `up` is made by Prometheus itself.
KNOWN = {"up"} | {name for metric in all_declared() for name in series_names(metric)}


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    assert program is not None, "install the Debian package prometheus"
    return subprocess.run(
        [program, *words], cwd=RULES.parent, capture_output=True, text=True, timeout=60, check=False
    )


def test_every_alert_fires_when_it_should_and_not_before() -> None:
    checked = promtool("test", "rules", RULE_TESTS.name)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_rule_that_never_fires_fails_its_test(tmp_path: Path) -> None:
    rules = RULES.read_text().replace("stead_edge_up == 0 or stead_edge_complete == 0", "stead_edge_up == 2")
    (tmp_path / RULES.name).write_text(rules)
    shutil.copy(RULE_TESTS, tmp_path)
    checked = promtool("test", "rules", str(tmp_path / RULE_TESTS.name))
    assert checked.returncode != 0
    assert "SteadEdgeDown" in checked.stdout + checked.stderr


def test_every_alert_has_a_test() -> None:
    tested = [each["name"] for each in yaml.safe_load(RULE_TESTS.read_text())["tests"]]
    assert sorted(tested) == sorted(NAMES)


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_an_alert_uses_only_metrics_that_a_program_declares(rule: dict[str, Any]) -> None:
    used = set(re.findall(r"\b(?:stead_[a-z_]+|up)\b", rule["expr"]))
    assert used
    assert used <= KNOWN


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_an_alert_says_what_it_means_and_its_page_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]
    _, found, rest = PAGE.partition(f"\n### {rule['alert']}\n")
    assert found, f"docs/monitoring.md has no section {rule['alert']}"
    instructions = rest.partition("\n### ")[0].strip()
    assert len(instructions.split()) > 20


def test_the_page_describes_no_alert_that_does_not_exist() -> None:
    assert set(re.findall(r"^### (Stead\w+)$", PAGE, re.MULTILINE)) == set(NAMES)
