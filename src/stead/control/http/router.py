"""From a method and a path to an operation: one dictionary look-up per segment."""

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
    """Paths are told apart by their literal segments; a literal wins over a parameter in its place."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        for operation in operations:
            self._add(operation)

    def find(self, method: str, path: str) -> tuple[Operation, Mapping[str, str]]:
        return self.find_segments(method, path.split("/"))

    def find_segments(self, method: str, segments: list[str]) -> tuple[Operation, Mapping[str, str]]:
        node, values = self._root, []
        for segment in segments:
            following = node.literals.get(segment)
            if following is None:
                following = node.parameter
                values.append(segment)
                if following is None or not segment:
                    raise RouteNotFound
            node = following
        operation = node.methods.get(method)
        if operation is not None:
            return operation, dict(zip(operation.path_parameters, values, strict=True)) if values else {}
        if not node.methods:
            raise RouteNotFound
        refusal = MethodNotAllowed(method=method)
        refusal.headers = {"Allow": ", ".join(sorted(node.methods))}
        raise refusal

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
