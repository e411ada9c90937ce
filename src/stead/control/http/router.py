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
        """`HEAD` is answered by the operation for `GET`."""
        node, values = self._find_node(segments)
        operation = node.methods.get("GET" if method == "HEAD" else method)
        if operation is not None:
            return operation, dict(zip(operation.path_parameters, values, strict=True)) if values else {}
        error = MethodNotAllowed(method=method)
        error.headers = {"Allow": ", ".join(_allowed(node))}
        raise error

    def methods_at(self, segments: list[str]) -> list[str]:
        """The methods that an address takes."""
        return _allowed(self._find_node(segments)[0])

    def _find_node(self, segments: list[str]) -> tuple[_Node, list[str]]:
        node, values = self._root, []
        for segment in segments:
            child = node.literals.get(segment)
            if child is None:
                child = node.parameter
                values.append(segment)
                if child is None or not segment:
                    raise RouteNotFound
            node = child
        if not node.methods:
            raise RouteNotFound
        return node, values

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


def _allowed(node: _Node) -> list[str]:
    head = ["HEAD"] if "GET" in node.methods else []
    return sorted([*node.methods, *head, "OPTIONS"])
