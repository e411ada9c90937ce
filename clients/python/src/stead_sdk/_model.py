"""The objects that the API returns.

An object keeps the JSON that the server sent. A field that this version does not know is available as
`site["new_field"]`, a field that an older server does not send is `None`, and any value is accepted.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

M = TypeVar("M", bound="Model")


class Model:
    _fields: ClassVar[Mapping[str, str | None]] = {}
    """The model of each field, or None: `Challenge`, and `*Member` for a list or a mapping of them."""
    _renamed: ClassVar[Mapping[str, str]] = {}
    """JSON names of fields whose name is a keyword of Python."""
    _sensitive: ClassVar[frozenset[str]] = frozenset()

    __slots__ = ("_data", "_request_id")

    def __init__(self, data: Mapping[str, Any], request_id: str | None = None) -> None:
        self._data, self._request_id = data, request_id

    @property
    def request_id(self) -> str | None:
        """The request that returned the object. Only for objects that were returned themselves."""
        return self._request_id

    def __getattr__(self, name: str) -> Any:
        fields = type(self)._fields
        if name not in fields:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return _read(self._data.get(self._renamed.get(name, name)), fields[name])

    def __getitem__(self, name: str) -> Any:
        """Any field of the JSON object, also one that this version does not know."""
        return self._data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as the server sent it."""
        return dict(self._data)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Model) and other._data == self._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = {name: "…" if name in self._sensitive else value for name, value in self._data.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _read(value: Any, model: str | None) -> Any:
    if model is None or value is None:
        return value
    from stead_sdk import types

    kind = getattr(types, model.lstrip("*"))
    if model.startswith("*") and isinstance(value, list):
        return [kind(each) if isinstance(each, dict) else each for each in value]
    if model.startswith("*") and isinstance(value, dict):
        return {name: kind(each) if isinstance(each, dict) else each for name, each in value.items()}
    return kind(value) if isinstance(value, dict) else value
