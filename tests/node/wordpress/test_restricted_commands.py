"""A key that may run WP-CLI and no code tries to run code all the same, to read secrets and to rule the site.

The same rules as for a request decide about every attempt. One that they admit runs as the platform runs it,
and nothing of what was wanted happens. Most attempts are also made without the rules, where they succeed.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import pytest

from stead.control.exec.wp_cli_rules import is_restricted
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.processes import StreamName
from stead.node.wordpress.commands import PLACES
from stead.protocol.work.access import RunCommand, Shell
from stead.shared.ids import new_id
from tests.conftest import FIGURE
from tests.node.driver_pairs import CapturedOutput
from tests.node.wordpress.wordpress_node import Site, WordPressNode
from tests.node.wordpress.wp_cli_attempts import ATTEMPTS
from tests.node.wordpress.wp_cli_attempts.attempt import (
    CONTENT,
    TOTP_SECRET,
    NumberedAttempt,
    Outcome,
)

Property = Callable[[str, object], None]
ACTIVATION, SESSION = "activation-key-of-the-administrator", "session-of-the-administrator"
REFUSED = [each for each in ATTEMPTS if any(is_restricted(command) for command in each.commands)]
ADMITTED = [each for each in ATTEMPTS if each not in REFUSED]
ORDINARY = ["option", "get", "blogname"]
PROVABLE = [each for each in ATTEMPTS if each.effect]


class _Output(CapturedOutput):
    """What a command prints, in one piece."""

    def __init__(self) -> None:
        super().__init__()
        self.data = bytearray()

    async def chunk(self, stream: StreamName, data: bytes) -> None:  # noqa: ARG002 - both streams count
        self.data += data


@pytest.fixture(scope="module")
async def attacked(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    await _run(made, ["eval", _make_users_and_posts()], restricted=False)
    await asyncio.to_thread(_plant, made)
    yield made
    await node.remove(made)


def _make_users_and_posts() -> str:
    """PHP code. The administrator has secrets, and each attempt has the user and the post that it names."""
    lines = [
        "global $wpdb;",
        f"update_user_meta(1, '_two_factor_totp_key', '{TOTP_SECRET}');",
        f"update_user_meta(1, 'session_tokens', ['{SESSION}' => ['expiration' => time() + 9999]]);",
        f"$wpdb->update($wpdb->users, ['user_activation_key' => '{ACTIVATION}'], ['ID' => 1]);",
    ]
    for each in ATTEMPTS:
        if each.mentions(each.user):
            lines.append(
                f"$name = '{each.user}'; $wpdb->insert($wpdb->users, ['user_login' => $name,"
                " 'user_nicename' => $name, 'user_email' => \"$name@example.com\", 'user_pass' => 'x']);"
                " (new WP_User($wpdb->insert_id))->set_role('subscriber');"
            )
        if each.mentions(each.post):
            lines.append(f"wp_insert_post(['import_id' => {each.post}, 'post_title' => 'Post {each.post}']);")
    return "\n".join(lines)


def _plant(site: Site) -> None:
    top = site.paths.content
    owner = top.stat()
    for path, content in (item for each in ATTEMPTS for item in each.files.items()):
        file = top / path.removeprefix(f"{CONTENT}/")
        file.parent.mkdir(parents=True, exist_ok=True)
        existing = file.read_bytes() if file.exists() else b""
        file.write_bytes(existing + content.removeprefix(b"<?php") if existing else content)
        for created in (file, *(each for each in file.parents if each.is_relative_to(top))):
            os.chown(created, owner.st_uid, owner.st_gid)


def _secrets(site: Site) -> tuple[str, ...]:
    config = (site.paths.memory / "wp-config.php").read_text()
    values = [config.partition(f"'{name}', '")[2].partition("'")[0] for name in ("DB_PASSWORD", "AUTH_KEY")]
    [(password,)] = site.query("select user_pass from {schema}.wp_users where ID = 1")
    secrets = (*values, str(password), ACTIVATION, SESSION, TOTP_SECRET)
    assert all(len(each) > 15 for each in secrets)
    return secrets


async def _run(
    site: Site, args: Iterable[str], *, program: Shell = "cms-cli", restricted: bool = True
) -> str:
    """What the command prints, also if it fails."""
    output = _Output()
    task = Assignment(new_id("job"), "site_x", site.environment, output)
    try:
        await site.node.runtime.run_command(task, RunCommand("cms", program, tuple(args), restricted))
    except Refusal as refused:
        if "exit code" not in refused.reason:
            raise
    return output.data.decode(errors="replace")


async def _try_all(
    attempts: Iterable[NumberedAttempt], check: Callable[[NumberedAttempt], Awaitable[str]]
) -> list[tuple[NumberedAttempt, str]]:
    """`check` returns what is wrong. As many attempts run at the same time as the platform permits."""
    places = asyncio.Semaphore(PLACES)

    async def try_one(attempt: NumberedAttempt) -> tuple[NumberedAttempt, str]:
        async with places:
            return attempt, await check(attempt)

    return await asyncio.gather(*map(try_one, attempts))


async def test_every_attempt_of_a_restricted_key_is_refused_or_harmless(
    attacked: Site, record_property: Property
):
    secrets = _secrets(attacked)
    # Several wait for the same command.
    ordinary = asyncio.create_task(_run(attacked, ORDINARY))

    async def run(command: list[str]) -> str:
        return await (ordinary if command == ORDINARY else _run(attacked, command))

    async def check(attempt: NumberedAttempt) -> str:
        printed = "\n".join([await run(command) for command in attempt.commands])
        outcome = Outcome(attacked, printed, secrets)
        if attempt.watched(outcome) or outcome.leaked:
            return f"{attempt} succeeded: {printed[:500]}"
        return ""

    assert len(ATTEMPTS) >= 150
    wrong = [text for _, text in await _try_all(ADMITTED, check) if text]
    assert not wrong, "\n".join(wrong)
    counts = f"{len(REFUSED)} refused, {len(ADMITTED)} admitted and harmless"
    record_property(FIGURE, f"WP-CLI with a restricted key: {len(ATTEMPTS)} attempts, {counts}")


async def test_the_attempts_succeed_without_the_rules(attacked: Site, record_property: Property):
    secrets = _secrets(attacked)

    async def check(attempt: NumberedAttempt) -> str:
        effect = attempt.effect
        assert effect
        if effect(Outcome(attacked, "", secrets)):
            return f"{attempt} had its effect before it began"
        if attempt.proof:
            printed = await _run(attacked, ["-c", attempt.proof], program="bash", restricted=False)
        else:
            printed = "\n".join([await _run(attacked, each, restricted=False) for each in attempt.commands])
        if not effect(Outcome(attacked, printed, secrets)):
            return f"{attempt} had no effect: {printed[:500]}"
        return ""

    # WordPress writes an option as a whole, so another attempt at the same time may have undone this one.
    failed = [each for each, wrong in await _try_all(PROVABLE, check) if wrong]
    assert not (wrong := [text for each in failed if (text := await check(each))]), "\n".join(wrong)
    record_property(
        FIGURE, f"WP-CLI with a restricted key: {len(PROVABLE)} attempts succeed without the rules"
    )
