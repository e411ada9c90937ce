"""Generates the resources of the Python client."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from clients.generator.blocking import blocking
from clients.generator.description import Description, Field, Operation
from clients.generator.python_shapes import (
    HEADER,
    annotation_of,
    attribute,
    camel_case,
    docstring,
    error_codes_module,
    params_module,
    types_module,
)

PACKAGE = Path("clients/python/src/stead_sdk")


def files(described: Description, root: Path) -> Iterator[tuple[Path, str]]:
    package = root / PACKAGE
    yield package / "types.py", types_module(described)
    yield package / "params.py", params_module(described)
    yield package / "error_codes.py", error_codes_module(described)
    yield package / "_repeats.py", _repeats(described)
    generated = {"resources/__init__.py": _index(described)}
    for name, operations in described.resources.items():
        generated[f"resources/{name}.py"] = _resource(name, operations, described)
    for path, text in generated.items():
        yield package / "_async" / path, text
        yield package / "_sync" / path, blocking(text.removeprefix(HEADER), f"_async/{path}")
    for source in sorted((package / "_async").glob("*.py")):
        text = blocking(source.read_text(), f"_async/{source.name}")
        if source.name == "__init__.py":
            text = '"""The blocking client, generated from `_async`."""\n'
        yield package / "_sync" / source.name, text


def _repeats(described: Description) -> str:
    lines = [f'    ("{each.method}", "{each.path}"),\n' for each in described.never_repeated]
    about = "Operations without a credential ignore an `Idempotency-Key`, so they must not be repeated."
    return "".join([HEADER, f'"""{about}"""\n\nNOT_REPEATABLE = frozenset({{\n', *lines, "})\n"])


def _index(described: Description) -> str:
    classes = {name: f"Async{camel_case(name)}" for name in described.resources}
    lines = [
        HEADER,
        '"""The resources of the client. Each is imported when it is used."""\n\n',
        "from functools import cached_property\nfrom typing import TYPE_CHECKING, cast\n\n",
        "if TYPE_CHECKING:\n    from stead_sdk._async.client import AsyncStead\n",
    ]
    lines += [f"    from stead_sdk._async.resources.{name} import {kind}\n" for name, kind in classes.items()]
    lines.append("\n\nclass AsyncResources:\n")
    for name, kind in classes.items():
        lines += [
            f'    @cached_property\n    def {name}(self) -> "{kind}":\n',
            f"        from stead_sdk._async.resources.{name} import {kind}\n\n",
            f'        return {kind}(cast("AsyncStead", self))\n\n',
        ]
    return "".join(lines).rstrip("\n") + "\n"


def _resource(name: str, operations: list[Operation], described: Description) -> str:
    methods = "\n".join(
        method
        for operation in operations
        for method in (_method(operation, described), _following(operation, described))
        if method
    )
    imports = [
        "from __future__ import annotations\n\n",
        "from typing import TYPE_CHECKING, Any\n\n",
        "from stead_sdk import types\n",
        _import_used("stead_sdk._async.client", ("in_path", "returned"), methods),
        _import_used("stead_sdk._async.jobs", ("AsyncJobHandle", "JobEvent", "field_of", "follow"), methods),
        _import_used("stead_sdk._async.live", ("LiveEvent", "follow_live"), methods),
        _import_used("stead_sdk._async.pages", ("AsyncPager",), methods),
        _import_used("stead_sdk._async.resource", ("AsyncResource", "result_of"), f"AsyncResource {methods}"),
        _import_used("stead_sdk._omit", ("OMIT", "Omit"), methods),
    ]
    checking = [
        "    from collections.abc import AsyncIterator, Mapping, Sequence\n\n",
        "    from stead_sdk import params\n",
    ]
    return "".join(
        [
            HEADER,
            f'"""{name.replace("_", " ").capitalize()}."""\n\n',
            *imports,
            "\nif TYPE_CHECKING:\n",
            *checking,
            f"\n\nclass Async{camel_case(name)}(AsyncResource):\n",
            methods,
        ]
    )


def _import_used(module: str, names: Iterable[str], text: str) -> str:
    used = [name for name in names if name in text]
    return f"from {module} import {', '.join(used)}\n" if used else ""


def _method(operation: Operation, described: Description) -> str:
    name = attribute(operation.action)
    fields = _body_fields(operation, described)
    asynchronous = "" if operation.kind in ("list", "stream") else "async "
    returns = _returned_type(operation, described)
    return (
        f"    {asynchronous}def {name}({_arguments(operation, fields, described)}) -> {returns}:\n"
        + docstring(operation.summary, operation.description, _scopes(operation), indent=8)
        + _statements(operation, fields, described)
    )


def _following(operation: Operation, described: Description) -> str:
    """The method that follows what is new, if the operation can do that."""
    if operation.follows is None:
        return ""
    arguments = _arguments(operation, (), described)
    query, model = _dictionary_of(operation.query), f"types.{operation.follows}"
    return (
        f"    def follow_{operation.action}({arguments}) -> AsyncIterator[LiveEvent[{model}]]:\n"
        + docstring(
            f"Follow what is new: {operation.summary[:1].lower()}{operation.summary[1:]}",
            "It ends when you stop. After a broken connection it goes on with an event `reconnected`, and"
            " what arrived meanwhile is missing.",
            _scopes(operation),
            indent=8,
        )
        + f"        return follow_live(self._client, {_path(operation)}, {query}, {model})\n"
    )


def _scopes(operation: Operation) -> str:
    return f"Scopes: {', '.join(f'`{scope}`' for scope in operation.scopes)}." if operation.scopes else ""


def _arguments(operation: Operation, fields: tuple[Field, ...], described: Description) -> str:
    given = [*(f"{each}: str" for each in operation.path_parameters)]
    query = [field for field in operation.query if field.name != "cursor"]
    keywords = [
        *(
            _argument(field, described)
            for field in fields
            if field.required and not operation.body_is_optional
        ),
        *(_argument(field, described) for field in query if field.required),
        *(_argument(field, described, optional=True) for field in _optional(operation, fields)),
        *(_argument(field, described, optional=True) for field in query if not field.required),
    ]
    return ", ".join(["self", *given, *(["*", *keywords] if keywords else [])])


def _path(operation: Operation) -> str:
    """The expression of the path."""
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", f"{{in_path({name})}}")
    return f'f"{path}"' if operation.path_parameters else f'"{path}"'


def _body_fields(operation: Operation, described: Description) -> tuple[Field, ...]:
    if operation.body is None:
        return ()
    fields = described.shapes[operation.body].fields
    taken = {*operation.path_parameters} & {field.name for field in fields}
    if taken:
        raise ValueError(f"{operation.id}: {taken} is in the path and in the body")
    return fields


def _optional(operation: Operation, fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if operation.body_is_optional or not field.required]


def _argument(field: Field, described: Description, *, optional: bool = False) -> str:
    annotation = annotation_of(field.schema, described, models="params.", enums="types.", sequence="Sequence")
    name = attribute(field.name)
    if not optional:
        return f"{name}: {annotation}"
    plain = annotation.removesuffix(" | None")
    return f"{name}: {plain} | Omit{' | None' if plain != annotation else ''} = OMIT"


def _returned_type(operation: Operation, described: Description) -> str:
    if operation.kind == "list":
        return f"AsyncPager[types.{operation.returns}]"
    if operation.kind == "stream":
        return "AsyncIterator[JobEvent]"
    if operation.kind == "job":
        handle = f"AsyncJobHandle[{_result_type(operation, described)}]"
        return f"{handle} | types.{operation.instead_of_job}" if operation.instead_of_job else handle
    return {"none": "None", "document": "dict[str, Any]"}.get(operation.kind, f"types.{operation.returns}")


def _result_type(operation: Operation, described: Description) -> str:
    if operation.read_with is None:
        return "dict[str, Any]"
    [read] = [each for each in described.operations if each.id == operation.read_with]
    return f"types.{read.returns}"


def _statements(operation: Operation, fields: tuple[Field, ...], described: Description) -> str:
    shown = _path(operation)
    if operation.kind == "stream":
        return f"        return follow(self._client, {', '.join(operation.path_parameters)})\n"
    if operation.kind == "list":
        query = _dictionary_of(field for field in operation.query if field.name != "cursor")
        read = 'lambda query: self._client._call("GET", path, query=query)'
        return (
            f"        path = {shown}\n        return AsyncPager({read}, {query}, types.{operation.returns})\n"
        )
    call = _call(operation, shown, fields)
    if operation.kind == "job":
        return _job_statements(operation, call, described)
    return {
        "none": f"        {call}\n",
        "document": f"        found: dict[str, Any] = {call}\n        return found\n",
        "object": f"        return returned(types.{operation.returns}, {call})\n",
    }[operation.kind]


def _call(operation: Operation, path: str, fields: tuple[Field, ...]) -> str:
    arguments = [f'"{operation.method}"', path]
    if operation.query:
        arguments.append(f"query={_dictionary_of(operation.query)}")
    if operation.body is not None:
        arguments.append(f"body={_dictionary_of(fields)}")
    if operation.body_is_optional:
        arguments.append("may_lack_body=True")
    if operation.idempotent != "natural":
        arguments.append(f'idempotent="{operation.idempotent}"')
    return f"await self._client._call({', '.join(arguments)})"


def _dictionary_of(fields: Iterable[Field]) -> str:
    return "{" + ", ".join(f'"{field.name}": {attribute(field.name)}' for field in fields) + "}"


def _job_statements(operation: Operation, call: str, described: Description) -> str:
    lines = [f"        response = {call}\n"]
    if operation.instead_of_job:
        lines += [
            '        if "links" not in response["data"]:\n',
            f"            return returned(types.{operation.instead_of_job}, response)\n",
        ]
    if operation.read_with is None:
        return "".join([*lines, "        return self._handle(response, result_of)\n"])
    [read] = [each for each in described.operations if each.id == operation.read_with]
    given = ", ".join(f'field_of(job, "{name}")' for name in read.path_parameters)
    return "".join(
        [
            *lines,
            f"\n        async def read(job: types.Job) -> types.{read.returns}:\n",
            f"            return await self._client.{read.resource}.{read.action}({given})\n\n",
            "        return self._handle(response, read)\n",
        ]
    )
