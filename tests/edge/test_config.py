"""The configuration of nginx is made of templates; every value of a template must be given."""

import pytest

from stead.edge.config import TEMPLATES, configuration, render
from stead.edge.settings import EdgeSettings


@pytest.mark.parametrize("firewall", [True, False])
@pytest.mark.parametrize("https", [(), ("127.0.0.1:8443",)])
def test_no_placeholder_is_left(firewall: bool, https: tuple[str, ...]) -> None:
    settings = EdgeSettings(node_id="node-a", data="/data", run="/run", https=https, firewall=firewall)
    rendered = configuration(settings)
    assert "{{" not in rendered
    assert "}}" not in rendered
    assert rendered.count("listen unix:/run/inner-") == (3 if firewall else 1)


@pytest.mark.parametrize("template", [path.stem for path in TEMPLATES.glob("*.conf")])
def test_a_template_without_its_values_is_not_rendered(template: str) -> None:
    with pytest.raises(KeyError):
        render(template)
