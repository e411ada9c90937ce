"""Makes a command of an operation that `operations/` describes, and runs it."""

import json
import sys
from typing import Any

import click

from stead_cli.files import read_file
from stead_cli.follow import follow
from stead_cli.session import Command, Session
from stead_cli.texts import json_text, write_result
from stead_sdk import errors, types
from stead_sdk._model import Model
from stead_sdk._sync.client import in_path
from stead_sdk._sync.jobs import JobHandle, field_of
from stead_sdk._sync.live import follow_live

Spec = dict[str, Any]
_TYPES: dict[str, Any] = {"integer": int, "number": float}
_MANY = 50


def command_of(name: str, spec: Spec) -> click.Command:
    params: list[click.Parameter] = [click.Argument([each]) for each in spec["arguments"]]
    params += [_option(field, spec) for field in (*spec["query"], *spec["body"])]
    if spec["body"]:
        params.append(click.Option(["--body", "whole_body"], help="All fields as JSON, or @FILE."))
    if spec["can_follow"]:
        params.append(click.Option(["--follow", "-f", "follows"], is_flag=True, help="Wait for what is new."))
    if spec["kind"] == "list":
        params.append(click.Option(["--all", "read_all"], is_flag=True, help="Read all pages."))
    if spec["kind"] == "job":
        params += [
            click.Option(["--detach"], is_flag=True, help="Do not wait: print the id of the job."),
            click.Option(["--wait-timeout"], type=float, help="Seconds to wait for the job."),
        ]
    if spec["destructive"] == "reversible":
        params.append(click.Option(["--yes", "-y"], is_flag=True, help="Do not ask."))
    if spec["destructive"] == "irreversible":
        params.append(click.Option(["--confirm"], help="What is lost, by name: do not ask."))

    def run(session: Session, **given: Any) -> None:
        Run(session, spec, given).run()

    help_ = "\n\n".join(filter(None, [spec["summary"], spec["description"]]))
    return Command(
        name,
        callback=run,
        params=params,
        help=help_,
        site="{site_id}" in spec["path"] and "site_id" not in spec["arguments"],
        environment="{env_id}" in spec["path"],
    )


_TAKEN = (
    *("--json", "--quiet", "--no-input", "--profile", "--ca-file", "--site", "--env", "--body", "--all"),
    *("--yes", "--confirm", "--follow", "--detach", "--wait-timeout"),
)


def _flag(field: Spec, spec: Spec) -> str:
    """`--json`, `--profile` and so on mean something else already: `--sites-profile`."""
    flag = f"--{field['name'].replace('_', '-')}"
    return f"--{spec['group']}-{flag[2:]}" if flag in _TAKEN else flag


def _option(field: Spec, spec: Spec) -> click.Option:
    name, kind = field["name"], field["type"]
    flag = _flag(field, spec)
    shown = field["description"] or None
    if field["sensitive"]:
        return click.Option(
            [f"{flag}-file", f"field_{name}"], help=f"{shown or ''} A file, or - for stdin.".strip()
        )
    if kind == "boolean":
        return click.Option([f"{flag}/--no-{flag[2:]}", f"field_{name}"], default=None, help=shown)
    if kind == "strings":
        return click.Option([flag, f"field_{name}"], multiple=True, help=f"{shown or ''} Repeat it.".strip())
    if field["values"]:
        more = (
            f"One of: {', '.join(map(str, field['values'][:12]))}{'…' if len(field['values']) > 12 else ''}."
        )
        shown = f"{shown or ''} {more}".strip()
    metavar = "JSON" if kind == "json" else None
    return click.Option([flag, f"field_{name}"], type=_TYPES.get(kind, str), metavar=metavar, help=shown)


class Run:
    """One run of a command."""

    def __init__(self, session: Session, spec: Spec, given: dict[str, Any]) -> None:
        self.session, self.spec, self.given = session, spec, given

    def run(self) -> None:
        path, body = self._path(self.spec["path"]), self._body()
        self._confirm()
        kind = self.spec["kind"]
        if kind == "list":
            self._show_list(path)
        elif self.given.get("follows"):
            self._follow(path)
        elif kind == "stream":
            follow(self.session, self._handle({"id": self.given["job_id"]}))
        else:
            response = self.session.client.request(
                self.spec["method"],
                path,
                query=self._query(),
                body=body,
                idempotent=self.spec["idempotent"],
            )
            self._show(response.json(), response.status)

    def _confirm(self) -> None:
        """What is taken away is named as it was given, and with the site that it belongs to."""
        if self.spec["destructive"] == "none" or self.given.get("yes"):
            return
        session, path, arguments = self.session, self.spec["path"], self.spec["arguments"]
        named, also = [str(self.given[each]) for each in arguments[-1:]], ""
        if not named and "{env_id}" in path:
            named, also = [session.env_name], session.env_id
        if "{site_id}" in path and "site_id" not in arguments:
            also = also if named else session.site_id
            named.append(session.site_name)
        what = self.spec["summary"].partition(".")[0]
        session.confirm(
            f"{what} ({' of '.join(named)})" if named else what,
            self.spec["destructive"],
            named[0] if named else self.spec["group"],
            yes=False,
            confirmed=self.given.get("confirm"),
            also=also,
        )

    def _follow(self, path: str) -> None:
        """One object in each line. Notices, such as that the connection was broken, go to stderr."""
        for event in follow_live(self.session.client, path, self._query(), Model):
            if event.item is None:
                self.session.say(f"{event.kind} {json.dumps(event.data)}")
            else:
                write_result(json_text(event.data))

    def _show(self, answer: Any, status: int) -> None:
        if self.spec["kind"] == "none" or status == 204:
            self.session.show({"ok": True} if self.session.as_json else None)
            self.session.say("Done.")
        elif self.spec["kind"] == "document":
            self.session.show(answer if self.session.as_json else json_text(answer))
        elif self.spec["kind"] == "job" and status == 202:
            self._wait(_data(answer))
        else:
            self.session.show(_data(answer))

    def _wait(self, job: Spec) -> None:
        handle = self._handle(job if "id" in job else {**job, "id": job["job_id"]})
        if self.given["detach"]:
            self.session.show(job if self.session.as_json else handle.id)
            return
        done = follow(self.session, handle, timeout=self.given["wait_timeout"])
        read = self.spec["read_with"]
        if read is None:
            result: Any = done.to_dict() if self.session.as_json else (done.result or {"job": done.id})
        else:
            names = {name: in_path(field_of(done, name)) for name in read["names"]}
            result = _data(self.session.client.request("GET", read["path"].format_map(names)).json())
        self.session.show(result)

    def _handle(self, job: Spec) -> JobHandle[types.Job]:
        return JobHandle(self.session.client, types.Job(job), lambda done: done)

    def _show_list(self, path: str) -> None:
        query = self._query()
        wanted = None if self.given["read_all"] else int(query.pop("limit", None) or _MANY)
        rows: list[Any] = []
        query["limit"] = min(wanted or 100, 100)
        while True:
            page = self.session.client.request("GET", path, query=query).json()
            rows += _data(page)
            cursor = (page.get("pagination") or {}).get("next_cursor")
            if not cursor or (wanted is not None and len(rows) >= wanted):
                break
            query["cursor"] = cursor
        self.session.show(rows[:wanted], self.spec["columns"])
        if cursor and not self.session.as_json:
            self.session.say("There are more: --limit N, or --all.")

    def _path(self, template: str) -> str:
        values = {}
        for name in self.spec["path_parameters"]:
            if name in self.spec["arguments"]:
                values[name] = in_path(self.given[name])
            else:
                values[name] = in_path(self.session.site_id if name == "site_id" else self.session.env_id)
        return template.format_map(values)

    def _query(self) -> dict[str, Any]:
        found = {field["name"]: self.given[f"field_{field['name']}"] for field in self.spec["query"]}
        for field in self.spec["query"]:
            if field["required"] and found[field["name"]] is None:
                found[field["name"]] = self.session.ask(field["name"], _flag(field, self.spec))
        return {name: value for name, value in found.items() if value is not None}

    def _body(self) -> dict[str, Any] | None:
        if not self.spec["body"]:
            return None
        body: dict[str, Any] = {}
        if self.given.get("whole_body"):
            body = _json(self.given["whole_body"], "--body")
        for field in self.spec["body"]:
            value = self._field(field, body)
            if value is not None:
                body[field["name"]] = value
        return None if self.spec["body_is_optional"] and not body else body

    def _field(self, field: Spec, body: Spec) -> Any:
        name, given = field["name"], self.given[f"field_{field['name']}"]
        flag = _flag(field, self.spec)
        if field["sensitive"] and given is not None:
            return _secret(given)
        if field["type"] == "strings":
            given = list(given) or None
        if given is None and field["required"] and name not in body and not self.spec["body_is_optional"]:
            suffix = "-file" if field["sensitive"] else ""
            given = self.session.ask(name, flag + suffix, hidden=field["sensitive"])
            return _typed(given, field, flag)
        if field["type"] == "json" and given is not None:
            return _json(given, flag)
        return given


def _data(answer: Any) -> Any:
    """The content of a response. Another server, or the page of a network, may have answered."""
    if not isinstance(answer, dict) or "data" not in answer:
        raise errors.APIConnectionError("The response is not that of the Stead API. Is the address right?")
    return answer["data"]


def _typed(text: str, field: Spec, flag: str) -> Any:
    """What was typed, as the field needs it: several words, JSON, a number."""
    kind = field["type"]
    if kind == "strings":
        return text.replace(",", " ").split()
    if kind == "json":
        return _json(text, flag)
    if kind == "boolean":
        return text.strip().lower() in ("y", "yes", "true", "1")
    try:
        return _TYPES.get(kind, str)(text)
    except ValueError:
        raise click.UsageError(f"{flag} is not a number: {text}") from None


def _secret(place: str) -> str:
    text = sys.stdin.read() if place == "-" else read_file(place)
    return text.rstrip("\r\n")


def _json(text: str, flag: str) -> Any:
    try:
        return json.loads(read_file(text[1:]) if text.startswith("@") else text)
    except ValueError as error:
        raise click.UsageError(f"{flag} is not JSON: {error}") from None
