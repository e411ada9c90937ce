"""A simulated WordPress that answers questions about sites in test mode: a small JSON file for each site.

It has what a new WordPress has, and remembers a limited number of changes. It checks little: whatever the API
itself does not refuse is accepted.
"""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from stead.node.drivers import layout
from stead.node.drivers.driver import Refusal
from stead.protocol.questions import NOT_FOUND, REFUSED, UNSUPPORTED, Question

MAX_ITEMS, MAX_BYTES = 200, 1 << 20
_MOMENT = "2026-01-01T00:00:00Z"
_DAY = 86_400


class SimulatedCms:
    def __init__(self, home: Path) -> None:
        self._home = home

    def answer(self, question: Question) -> bytes:
        """Raises Refusal."""
        handle = _HANDLERS.get(question.kind)
        if handle is None:
            raise Refusal(UNSUPPORTED, "the simulator does not know this question")
        path = self._home / layout.check_identifier(question.environment)
        before = path.read_bytes() if path.exists() else b""
        state = msgspec.json.decode(before) if before else new_site()
        result = handle(state, msgspec.json.decode(question.body), question.environment)
        after = msgspec.json.encode(state)
        if len(after) > max(MAX_BYTES, len(before)):
            raise Refusal(REFUSED, f"a simulated site stores at most {MAX_BYTES >> 20} MiB")
        if after != before:
            layout.write_file(path, after, mode=0o600)
        return msgspec.json.encode(result)

    def forget(self, environment: str) -> None:
        (self._home / layout.check_identifier(environment)).unlink(missing_ok=True)


State = dict[str, Any]
Body = dict[str, Any]


def new_site() -> State:
    admin = {"id": 1, "login": "admin", "email": "admin@example.com", "display_name": "admin"}
    admin |= {"first_name": "", "last_name": "", "roles": ["administrator"], "registered_at": _MOMENT}
    first = _post(1, {"type": "post", "title": "Hello world!", "status": "publish"})
    event = {"hook": "wp_version_check", "recurrence": "twicedaily", "time": 2_000_000_000}
    editor = admin | {"id": 2, "login": "editor", "email": "editor@example.com", "roles": ["editor"]}
    return {"next": 10, "content": [first], "users": [admin, editor], "cron": [event | {"args": []}]}


def _post(number: int, wanted: Body) -> Body:
    return {
        "id": number,
        "type": wanted.get("type", "post"),
        "status": wanted.get("status", "draft"),
        "title": wanted.get("title", ""),
        "slug": wanted.get("slug") or f"post-{number}",
        "modified_at": _MOMENT,
        "date": _MOMENT,
        "author": wanted.get("author", 1),
        "url": f"https://simulated.example.com/?p={number}",
        "content": wanted.get("content", ""),
        "excerpt": wanted.get("excerpt", ""),
        "parent": wanted.get("parent", 0),
        "featured_media": wanted.get("featured_media", 0),
        "terms": {},
        "meta": {},
        "mime_type": "",
        "file_url": "",
    }


def _identify(prefix: str, letter: str, *names: str) -> str:
    digest = hashlib.sha256("/".join(names).encode()).hexdigest()
    return f"{prefix}_{letter}{digest[: 26 - len(letter)]}"


def list_components(environment: str) -> list[Body]:
    found = [("plugin", "hello-simulation", "1.0"), ("theme", "simulated-theme", "1.0")]
    return [
        {
            "id": _identify("comp", kind[0], environment, slug),
            "kind": kind,
            "type": "regular",
            "slug": slug,
            "file": slug,
            "name": slug,
            "version": version,
            "status": "active",
            "update_available": None,
        }
        for kind, slug, version in found
    ]


def _answer_components(_: State, __: Body, environment: str) -> Body:
    return {"components": list_components(environment)}


def _find(items: list[Body], number: object) -> Body:
    for item in items:
        if item["id"] == number:
            return item
    raise Refusal(NOT_FOUND, "it is not there")


def _add(state: State, name: str, item: Body) -> Body:
    if len(state[name]) >= MAX_ITEMS:
        raise Refusal(REFUSED, f"a simulated site has at most {MAX_ITEMS} of these")
    state[name].append(item)
    return item


def _number(state: State) -> int:
    state["next"] += 1
    return int(state["next"])


def _page(items: list[Body], body: Body) -> Body:
    below = sorted((each for each in items if each["id"] < body["before"]), key=lambda each: -each["id"])
    return {"items": below[: body["limit"]]}


_DETAILS = ("content", "excerpt", "terms", "meta")


def _list_content(state: State, body: Body, _: str) -> Body:
    kind, status = body["type"], body["status"]
    chosen = [
        {name: value for name, value in each.items() if name not in _DETAILS}
        for each in state["content"]
        if kind in (None, each["type"])
        and (each["status"] == status if status else each["status"] != "trash")
    ]
    return _page(chosen, body)


def _create_content(state: State, body: Body, _: str) -> Body:
    return _add(state, "content", _post(_number(state), body))


def _update_content(state: State, body: Body, _: str) -> Body:
    found = _find(state["content"], body["id"])
    found.update({name: value for name, value in body.items() if name in found and name not in _KEPT})
    return found


def _delete_content(state: State, body: Body, _: str) -> Body:
    found = _find(state["content"], body["id"])
    if found["status"] == "trash":
        state["content"].remove(found)
        return {"trashed": False}
    found["status"] = "trash"
    return {"trashed": True}


_KEPT = frozenset({"id", "terms", "meta"})


def _list_users(state: State, body: Body, _: str) -> Body:
    role = body["role"]
    return _page([each for each in state["users"] if role is None or role in each["roles"]], body)


def _create_user(state: State, body: Body, _: str) -> Body:
    if any(body["login"] == each["login"] or body["email"] == each["email"] for each in state["users"]):
        raise Refusal(REFUSED, "The login or the email address is in use.")
    made = {"id": _number(state), "roles": [body["role"]], "registered_at": _MOMENT}
    made |= {name: body.get(name, "") for name in ("login", "email", *_NAMES)}
    return _add(state, "users", made)


_NAMES = ("display_name", "first_name", "last_name")


def _update_user(state: State, body: Body, _: str) -> Body:
    found = _find(state["users"], body["id"])
    if body.get("role", "administrator") != "administrator":
        _require_another_administrator(state, found)
    found.update({name: body[name] for name in ("email", *_NAMES) if name in body})
    if "role" in body:
        found["roles"] = [body["role"]]
    return found


def _delete_user(state: State, body: Body, _: str) -> Body:
    found = _find(state["users"], body["id"])
    _require_another_administrator(state, found)
    state["users"].remove(found)
    return {"deleted": True}


def _require_another_administrator(state: State, user: Body) -> None:
    others = [each for each in state["users"] if each is not user and "administrator" in each["roles"]]
    if "administrator" in user["roles"] and not others:
        raise Refusal(REFUSED, "The site needs an administrator, and this is the last one.")


def view_event(event: Body, environment: str) -> Body:
    moment = "" if event["recurrence"] else str(event["time"])
    names = (environment, event["hook"], msgspec.json.encode(event["args"]).decode(), moment)
    recurrence = event["recurrence"] or ""
    interval = _DAY if event["recurrence"] else None
    return {"id": _identify("cron", "", *names, recurrence), "interval": interval, **event}


def _list_events(state: State, _: Body, environment: str) -> Body:
    return {"events": [view_event(each, environment) for each in state["cron"]]}


def _find_event(state: State, body: Body, environment: str) -> Body:
    for event in state["cron"]:
        if view_event(event, environment)["id"] == body["id"]:
            found: Body = event
            return found
    raise Refusal(NOT_FOUND, "There is no such event.")


def _get_event(state: State, body: Body, environment: str) -> Body:
    return view_event(_find_event(state, body, environment), environment)


def _create_event(state: State, body: Body, environment: str) -> Body:
    event = {name: body[name] for name in ("hook", "recurrence", "args")}
    event["time"] = body["time"] or int(time.time()) + _DAY
    return view_event(_add(state, "cron", event), environment)


def _update_event(state: State, body: Body, environment: str) -> Body:
    found = _find_event(state, body, environment)
    found.update({name: body[name] for name in ("recurrence", "args") if name in body})
    found["time"] = body.get("time") or found["time"]
    return view_event(found, environment)


def _delete_event(state: State, body: Body, environment: str) -> Body:
    state["cron"].remove(_find_event(state, body, environment))
    return {"deleted": True}


def _describe_database(_: State, __: Body, ___: str) -> Body:
    table = {"name": "wp_posts", "rows": 1, "size_bytes": 16_384}
    return {"engine": "mariadb", "version": "simulated", "size_bytes": 16_384, "tables": [table]}


def _query(_: State, __: Body, ___: str) -> Body:
    return {"columns": ["simulated"], "rows": [{"simulated": 1}], "row_count": 1, "truncated": False}


_HANDLERS: dict[str, Callable[[State, Body, str], Body]] = {
    "components.list": _answer_components,
    "content.list": _list_content,
    "content.get": lambda state, body, _: _find(state["content"], body["id"]),
    "content.create": _create_content,
    "content.update": _update_content,
    "content.delete": _delete_content,
    "users.list": _list_users,
    "users.get": lambda state, body, _: _find(state["users"], body["id"]),
    "users.create": _create_user,
    "users.update": _update_user,
    "users.delete": _delete_user,
    "cron.list": _list_events,
    "cron.get": _get_event,
    "cron.create": _create_event,
    "cron.update": _update_event,
    "cron.delete": _delete_event,
    "database.get": _describe_database,
    "database.query": _query,
    "database.execute": lambda _, body, __: {"affected_rows": 0, "applied": body["confirm"]},
}
