"""Installs WordPress in the database of an environment, in a container of its own."""

import shutil

import msgspec

from stead.node.containers.bundle import BindMount
from stead.node.containers.runc import Runc, new_container
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.wordpress.configuration_files import TEMPLATES
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.program_files import PREFIX as PROGRAM
from stead.node.wordpress.script_container import PART
from stead.protocol.work.hosting import WordPressSettings

ANSWERS = "install.json"
"""Contains the password of the administrator."""
CODE, DATA_LOST = "cms.not_installed", "cms.data_lost"


def remove_leftovers(paths: EnvironmentPaths) -> None:
    """Remove what an agent left that was killed during an installation, a command or a probe. Their
    containers have ended. Blocks."""
    (paths.memory / ANSWERS).unlink(missing_ok=True)
    shutil.rmtree(paths.memory / PART, ignore_errors=True)
    for pattern in (f"{paths.container_name}-*", f"{PROGRAM}*"):
        for directory in paths.memory.glob(pattern):
            shutil.rmtree(directory, ignore_errors=True)
    # Of a release that was probed, or a dataset that was made.
    for part in ("probe", "staged"):
        shutil.rmtree(paths.memory / part, ignore_errors=True)


async def install(plan: WordPressPlan, runc: Runc, wanted: WordPressSettings, task: Assignment) -> None:
    """Repeating it changes nothing. The password exists in a file in memory until it is done."""
    await plan.prepare()
    answers = plan.write_secret(ANSWERS, msgspec.json.encode(wanted))
    container = new_container(f"{plan.container.name}-", plan.paths.memory)
    configuration = plan.configure(
        ("/usr/local/bin/php", "/run/stead/install.php", "/run/stead/install.json"),
        {},
        BindMount(TEMPLATES / "install.php", "/run/stead/install.php"),
        BindMount(answers, "/run/stead/install.json"),
        cgroup=container.cgroup,
    )
    try:
        code = await runc.run(container, configuration, task.output.chunk)
    finally:
        answers.unlink(missing_ok=True)
    if code:
        raise Refusal(CODE, f"WordPress could not be installed: PHP ended with {code}")
