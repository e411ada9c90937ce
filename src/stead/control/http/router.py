"""Finds the operation for a method and a path, with one dictionary lookup per segment."""

from collections.abc import Iterable, Mapping

from stead.control.http.operations import Operation
from stead.shared.errors import MethodNotAllowed, RouteNotFound


class _Node:
    __slots__ = ("literals", "methods", "parameter")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.methods: dict[str, Operation] = {}


class Router:
    """Distinguishes paths by their literal segments. A literal segment takes precedence over a parameter."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        for operation in operations:
            self._add(operation)

    def find(self, method: str, path: str) -> tuple[Operation, Mapping[str, str]]:
        return self.find_segments(method, path.split("/"))

    def find_segments(self, method: str, segments: list[str]) -> tuple[Operation, Mapping[str, str]]:
        node, values = self._root, []
        for segment in segments:
            child = node.literals.get(segment)
            if child is None:
                child = node.parameter
                values.append(segment)
                if child is None or not segment:
                    raise RouteNotFound
            node = child
        operation = node.methods.get(method)
        if operation is not None:
            return operation, dict(zip(operation.path_parameters, values, strict=True)) if values else {}
        if not node.methods:
            raise RouteNotFound
        error = MethodNotAllowed(method=method)
        error.headers = {"Allow": ", ".join(sorted(node.methods))}
        raise error

    def _add(self, operation: Operation) -> None:
        node = self._root
        for segment in operation.path.split("/"):
            if segment.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.literals.setdefault(segment, _Node())
        if operation.method in node.methods:
            raise TypeError(f"two operations at {operation.method} {operation.path}")
        node.methods[operation.method] = operation
