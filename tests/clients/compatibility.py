"""What a change of the API description takes away from clients that were made before it."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def broken_promises(old: Json, new: Json) -> Iterator[str]:
    """Everything that a client of the old description relies on and that the new one does not promise."""
    for path, methods in old["paths"].items():
        for method, before in methods.items():
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                yield f"{before['operationId']} is gone"
                continue
            yield from _request(before, now, old, new)
            yield from _responses(before, now, old, new)


def _request(before: Json, now: Json, old: Json, new: Json) -> Iterator[str]:
    name = before["operationId"]
    known = {each["name"]: each for each in _parameters(before, old)}
    wanted = {each["name"]: each for each in _parameters(now, new)}
    for parameter in known.keys() - wanted.keys():
        yield f"{name}: the parameter {parameter} is gone"
    for parameter, each in wanted.items():
        if each.get("required") and not known.get(parameter, {}).get("required"):
            yield f"{name}: the parameter {parameter} is required"
    sent, taken = _body(before, old), _body(now, new)
    if sent is None:
        if taken is not None and now["requestBody"]["required"]:
            yield f"{name}: a body is required"
        return
    if taken is None:
        yield f"{name}: no body is taken"
        return
    yield from _fits(sent, taken, old, new, f"{name} body")


def _responses(before: Json, now: Json, old: Json, new: Json) -> Iterator[str]:
    for status, response in before["responses"].items():
        if status >= "300":
            continue
        promised, found = _content(response, old), _content(now["responses"].get(status, {}), new)
        if promised is None:
            continue
        if found is None:
            yield f"{before['operationId']}: there is no response {status}"
        else:
            yield from _fits(found, promised, new, old, f"{before['operationId']} {status}", read=True)


def _fits(given: Json, wanted: Json, of: Json, to: Json, at: str, *, read: bool = False) -> Iterator[str]:
    """Whether a value of `given`, in the description `of`, is one of `wanted`, in the description `to`."""
    given, wanted = _resolve(given, of), _resolve(wanted, to)
    if "properties" in wanted:
        have = given.get("properties", {})
        for name in wanted.get("required", ()):
            if name not in given.get("required", ()):
                yield f"{at}.{name} may be missing" if read else f"{at}.{name} is required"
        for name, each in wanted["properties"].items():
            if name in have:
                yield from _fits(have[name], each, of, to, f"{at}.{name}", read=read)
        if not read:
            yield from (f"{at}.{name} is not taken" for name in have.keys() - wanted["properties"].keys())
        return
    if wanted.get("type") == "array" and given.get("type") == "array":
        yield from _fits(given["items"], wanted["items"], of, to, f"{at}[]", read=read)
        return
    missing = _types(given, of) - _types(wanted, to)
    if missing - ({"integer"} if "number" in _types(wanted, to) else set()):
        yield f"{at}: {', '.join(sorted(missing))} is not expected"
    if not read and "enum" in given and "enum" in wanted:
        yield from (f"{at}: {value} is not taken" for value in {*given["enum"]} - {*wanted["enum"]})


def _types(schema: Json, of: Json) -> set[str]:
    schema = _resolve(schema, of)
    if "anyOf" in schema:
        return {each for part in schema["anyOf"] for each in _types(part, of)}
    return {str(schema.get("type", "any"))}


def _parameters(entry: Json, of: Json) -> list[Json]:
    return [_resolve(each, of) for each in entry["parameters"]]


def _body(entry: Json, of: Json) -> Json | None:
    if "requestBody" not in entry:
        return None
    schema: Json = entry["requestBody"]["content"]["application/json"]["schema"]
    parts = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return _resolve(parts[0], of)


def _content(response: Json, of: Json) -> Json | None:
    content = _resolve(response, of).get("content", {})
    found: Json | None = content.get("application/json", {}).get("schema")
    return found


def _resolve(part: Json, of: Json) -> Json:
    while "$ref" in part:
        target: Any = of
        for step in part["$ref"].split("/")[1:]:
            target = target[step]
        part = target
    return part
