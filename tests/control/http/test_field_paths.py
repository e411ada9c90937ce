"""`param` names a field of the request, always as a dotted path."""

from typing import Annotated

import msgspec
import pytest

from stead.control.http.inputs import field_error
from tests.conftest import NewPerson


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    number: int


class Outer(msgspec.Struct):
    items: list[Inner] = []
    names: dict[Annotated[str, msgspec.Meta(max_length=3)], int] = {}
    groups: dict[str, list[Inner]] = {}


@pytest.mark.parametrize(
    ("kind", "body", "param"),
    [
        (Outer, '{"items": [{"number": 1}, {"number": "x"}]}', "items.1.number"),
        (Outer, '{"items": [{"other": 1}]}', "items.0.other"),
        (Outer, '{"items": [{}]}', "items.0.number"),
        (Outer, '{"items": 1}', "items"),
        (Outer, '{"names": {"a": "x"}}', "names.*"),
        (Outer, '{"names": {"long": 1}}', "names"),
        (Outer, '{"groups": {"a": [{"number": ""}]}}', "groups.*.0.number"),
        (list[Inner], '[{"number": ""}]', "0.number"),
        (Outer, "[]", None),
    ],
)
def test_a_field_is_named_with_dots(kind: object, body: str, param: str | None) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(body, type=kind)
    assert field_error(refused.value, kind, msgspec.json.decode(body)).param == param


async def test_the_decoder_and_the_rules_name_a_field_alike(new_person: NewPerson) -> None:
    person = await new_person()
    for scopes in ([1], ["no:such-scope"]):
        answer = await person.session.post("/v1/api-keys", json={"scopes": scopes})
        assert answer.json()["error"]["param"] == "scopes.0"
