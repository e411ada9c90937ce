"""Generates the resources, types and error codes of the TypeScript client."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from clients.generator.description import Description, Field, Json, Operation, Shape, references
from clients.generator.python_shapes import camel_case

PACKAGE = Path("clients/typescript/src")
_HEADER = "// Generated from the API description by `make generate`.\n"
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_RESERVED = {"delete", "import", "export", "new", "function"}
"""Words of the language that can still be names of methods, but not of parameters."""


def files(described: Description, root: Path) -> Iterator[tuple[Path, str]]:
    package = root / PACKAGE
    yield package / "types.ts", _types(described)
    yield package / "error-codes.ts", _error_codes(described)
    yield package / "repeats.ts", _repeats(described)
    yield package / "resources" / "index.ts", _index(described)
    yield root / "clients/typescript/test/compare.ts", _comparison(described)
    for name, operations in described.resources.items():
        yield package / "resources" / f"{_file_name(name)}.ts", _resource(name, operations, described)


def _repeats(described: Description) -> str:
    lines = [f'  "{each.method} {each.path}",\n' for each in described.never_repeated]
    about = _comment(
        "Operations without a credential ignore an `Idempotency-Key`, so they must not be repeated."
    )
    return "".join([_HEADER, about, "export const NOT_REPEATABLE = new Set([\n", *lines, "]);\n"])


def lower_camel_case(name: str) -> str:
    found = camel_case(name)
    return found[:1].lower() + found[1:]


def _file_name(resource: str) -> str:
    return resource.replace("_", "-")


def _comment(*parts: str, indent: int = 0) -> str:
    """Paragraphs as a documentation comment, wrapped."""
    space = " " * indent
    lines: list[str] = []
    for paragraph in (each for part in parts if part for each in part.split("\n\n")):
        if lines:
            lines.append("")
        lines += textwrap.wrap(" ".join(paragraph.split()), 108 - indent, break_on_hyphens=False)
    if not lines:
        return ""
    safe = [line.replace("*/", "*\\/") for line in lines]
    if len(safe) == 1:
        return f"{space}/** {safe[0]} */\n"
    body = "".join(f"{space} * {line}".rstrip() + "\n" for line in safe)
    return f"{space}/**\n{body}{space} */\n"


def _annotation(schema: Json, *, module: str = "") -> str:
    """The type of a value. `module` is the name under which the types are imported, with a dot."""
    if "$ref" in schema:
        return f"{module}{references(schema)[0]}"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_annotation(each, module=module) for each in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(_literal(value) for value in schema["enum"])
    if schema.get("type") == "array":
        inner = _annotation(schema["items"], module=module)
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties")
        value = _annotation(of, module=module) if isinstance(of, dict) else "unknown"
        return f"{{ [name: string]: {value} }}"
    return _SCALARS.get(str(schema.get("type")), "unknown")


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _types(described: Description) -> str:
    lines = [_HEADER, "/** The objects of the API, and its enums. Every enum may get more values. */\n"]
    for name, values in sorted(described.enums.items()):
        known = " | ".join(_literal(value) for value in values)
        rest = "(string & {})" if isinstance(values[0], str) else "(number & {})"
        lines.append(f"\nexport type {name} = {known} | {rest};\n")
    names = sorted({*described.outputs(), *described.inputs()})
    lines += [_interface(described.shapes[name]) for name in names]
    return "".join(lines)


def _interface(shape: Shape) -> str:
    lines = ["\n", _comment(shape.description), f"export interface {shape.name} {{\n"]
    for field in shape.fields:
        lines.append(_comment(field.description, indent=2))
        name = field.name if field.name.isidentifier() else f'"{field.name}"'
        lines.append(f"  {name}{'' if field.required else '?'}: {_annotation(field.schema)};\n")
    return "".join([*lines, "}\n"])


def _error_codes(described: Description) -> str:
    codes = "".join(f'  | "{code}"\n' for code in described.error_types)
    comment = "/** The codes of errors. There may be more of them. */\n"
    return f"{_HEADER}{comment}export type ErrorCode =\n{codes}  | (string & {{}});\n"


_COMPARED = """/** Compares every type with the one that openapi-typescript makes of the same description. */
import type * as ours from "../src/types.js";
import type { components } from "./oracle.js";

type Theirs = components["schemas"];
type Literals<T> = T extends string
  ? string extends T
    ? never
    : T
  : T extends number
    ? number extends T
      ? never
      : T
    : never;
/** Without the values that an enum may get later. */
type Closed<T> = [Literals<T>] extends [never] ? Parts<T> : Literals<T> | Parts<Exclude<T, string | number>>;
type Parts<T> = T extends readonly (infer E)[]
  ? Closed<E>[]
  : T extends object
    ? { [K in keyof T]: Closed<T[K]> }
    : T;
type Same<A, B> = [Closed<A>] extends [B] ? ([B] extends [A] ? true : "theirs differs") : "ours differs";
type Assert<T extends true> = T;

"""


def _comparison(described: Description) -> str:
    names = sorted({*described.outputs(), *described.inputs(), *described.enums})
    checks = "".join(f'  Assert<Same<ours.{name}, Theirs["{name}"]>>,\n' for name in names)
    return f"{_HEADER}{_COMPARED}export type Checked = [\n{checks}];\n"


def _index(described: Description) -> str:
    lines = [
        _HEADER,
        "/** The resources of the client. */\n",
        'import type { Stead } from "../client.js";\nimport type { Transport } from "../transport.js";\n',
    ]
    lines += [
        f'import {{ {camel_case(name)} }} from "./{_file_name(name)}.js";\n' for name in described.resources
    ]
    lines.append("\nexport class Resources {\n")
    lines += [f"  readonly {lower_camel_case(name)}: {camel_case(name)};\n" for name in described.resources]
    lines += [
        "\n  constructor(protected readonly transport: Transport) {\n",
        "    const client = this as unknown as Stead;\n",
    ]
    lines += [
        f"    this.{lower_camel_case(name)} = new {camel_case(name)}(client, transport);\n"
        for name in described.resources
    ]
    return "".join([*lines, "  }\n}\n"])


def _resource(name: str, operations: list[Operation], described: Description) -> str:
    methods = "\n".join(
        text
        for operation in operations
        for text in (_method(operation, described), _following(operation))
        if text
    )
    imports = [
        _import("../jobs.js", ("fieldOf", "follow", "JobHandle", "jobOf"), methods),
        _import("../live.js", ("followLive",), methods),
        _import("../pages.js", ("Pager",), methods),
        _import("../resource.js", ("Resource", "unlessEmpty"), f"Resource {methods}"),
        _import("../responses.js", ("dataOf",), methods),
        _import("../transport.js", ("inPath",), methods),
        _import("../jobs.js", ("JobEvent",), methods, types=True),
        _import("../live.js", ("LiveEvent",), methods, types=True),
        'import type { RequestOptions } from "../transport.js";\n',
        'import type * as types from "../types.js";\n' if "types." in methods else "",
    ]
    return "".join(
        [_HEADER, *imports, f"\nexport class {camel_case(name)} extends Resource {{\n", methods, "}\n"]
    )


def _import(module: str, names: tuple[str, ...], text: str, *, types: bool = False) -> str:
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    return f'import {"type " if types else ""}{{ {", ".join(used)} }} from "{module}";\n' if used else ""


def _method(operation: Operation, described: Description) -> str:
    scopes = f"Scopes: {', '.join(f'`{scope}`' for scope in operation.scopes)}." if operation.scopes else ""
    asynchronous = "" if operation.kind in ("list", "stream") else "async "
    generator = "AsyncGenerator<JobEvent, void, undefined>"
    returns = _returns(operation, described)
    shown = (
        generator
        if operation.kind == "stream"
        else returns
        if operation.kind == "list"
        else f"Promise<{returns}>"
    )
    return (
        _comment(operation.summary, operation.description, scopes, indent=2)
        + f"  {asynchronous}{lower_camel_case(operation.action)}"
        + f"({_arguments(operation, described)}): {shown} {{\n"
        + _statements(operation, described)
        + "  }\n"
    )


def _following(operation: Operation) -> str:
    if operation.follows is None:
        return ""
    item = f"types.{operation.follows}"
    arguments = [f"{_parameter(name)}: string" for name in operation.path_parameters]
    arguments += [_query_argument(operation), "options: RequestOptions = {}"]
    return (
        _comment(
            f"Follow what is new: {operation.summary[:1].lower()}{operation.summary[1:]}",
            "It ends when you stop. After a broken connection it goes on with an event `reconnected`, and"
            " what arrived meanwhile is missing.",
            indent=2,
        )
        + f"  {lower_camel_case(f'follow_{operation.action}')}({', '.join(arguments)}):"
        + f" AsyncGenerator<LiveEvent<{item}>, void, undefined> {{\n"
        + f"    return followLive<{item}>(this.transport, {_path(operation)}, query, options);\n  }}\n"
    )


def _parameter(name: str) -> str:
    found = lower_camel_case(name)
    return f"{found}_" if found in _RESERVED else found


def _query(operation: Operation) -> list[Field]:
    return [field for field in operation.query if field.name != "cursor"]


def _query_argument(operation: Operation) -> str:
    fields = [
        f"{field.name}{'' if field.required else '?'}:"
        f" {_annotation(field.schema, module='types.')}{'' if field.required else ' | undefined'}"
        for field in _query(operation)
    ]
    needed = any(field.required for field in operation.query)
    return f"query: {{ {'; '.join(fields)} }}{'' if needed else ' = {}'}"


def _arguments(operation: Operation, described: Description) -> str:
    given = [f"{_parameter(name)}: string" for name in operation.path_parameters]
    if operation.body is not None:
        fields = described.shapes[operation.body].fields
        optional = operation.body_is_optional or not any(field.required for field in fields)
        given.append(f"body: types.{operation.body}{' = {}' if optional and not _needs(fields) else ''}")
    elif _query(operation):
        given.append(_query_argument(operation))
    return ", ".join([*given, "options: RequestOptions = {}"])


def _needs(fields: tuple[Field, ...]) -> bool:
    return any(field.required for field in fields)


def _returns(operation: Operation, described: Description) -> str:
    if operation.kind == "list":
        return f"Pager<types.{operation.returns}>"
    if operation.kind == "job":
        handle = f"JobHandle<{_result(operation, described)}>"
        return f"{handle} | types.{operation.instead_of_job}" if operation.instead_of_job else handle
    plain = {"none": "void", "document": "Record<string, unknown>"}
    return plain.get(operation.kind, f"types.{operation.returns}")


def _result(operation: Operation, described: Description) -> str:
    for read in described.operations:
        if read.id == operation.read_with:
            return f"types.{read.returns}"
    return "Record<string, unknown>"


def _path(operation: Operation) -> str:
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", f"${{inPath({_parameter(name)})}}")
    return f"`{path}`" if operation.path_parameters else f'"{path}"'


def _statements(operation: Operation, described: Description) -> str:
    path = _path(operation)
    if operation.kind == "stream":
        return (
            f'    return follow(this.transport, {_parameter(operation.path_parameters[0])}, "", options);\n'
        )
    if operation.kind == "list":
        query = "{ ...query, cursor }" if _query(operation) else "{ cursor }"
        read = f'this.transport.request("GET", path, {{ query: {query}, options }})'
        return f"    const path = {path};\n    return new Pager((cursor) => {read});\n"
    request = _request(operation, path)
    if operation.kind == "none":
        return f"    await {request};\n"
    lines = [f"    const {{ body: found }} = await {request};\n"]
    if operation.kind == "document":
        return "".join([*lines, "    return found as Record<string, unknown>;\n"])
    if operation.kind == "object":
        return "".join([*lines, f"    return dataOf<types.{operation.returns}>(found);\n"])
    if operation.instead_of_job:
        lines.append(f"    const data = dataOf<types.{operation.instead_of_job}>(found);\n")
        lines.append('    if (!("links" in data)) return data;\n')
    return "".join([*lines, _handle(operation, described)])


def _request(operation: Operation, path: str) -> str:
    sent = []
    if _query(operation) and operation.body is None:
        sent.append("query")
    if operation.body is not None:
        sent.append("body: unlessEmpty(body)" if operation.body_is_optional else "body")
    if operation.idempotent != "natural" or operation.method == "DELETE":
        # A deletion that is not known has a key, in case it queues a job.
        sent.append(f'idempotent: "{operation.idempotent}"')
    sent.append("options")
    return f'this.transport.request("{operation.method}", {path}, {{ {", ".join(sent)} }})'


def _handle(operation: Operation, described: Description) -> str:
    for read in described.operations:
        if read.id == operation.read_with:
            given = ", ".join(f'fieldOf(job, "{name}")' for name in read.path_parameters)
            call = f"this.client.{lower_camel_case(read.resource)}.{lower_camel_case(read.action)}"
            return (
                "    return new JobHandle(this.transport, jobOf(found), (job, given) =>\n"
                f"      {call}({given}, given),\n    );\n"
            )
    return "    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));\n"
