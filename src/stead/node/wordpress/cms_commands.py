"""What the API asks WordPress sites, and the commands that change their components, content and databases."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stead.node.containers.runc import Runc
from stead.node.databases.exports import DatabaseExports
from stead.node.databases.names import schema_name
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.site_queries import SiteQueries
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.fair_places import FairPlaces
from stead.node.hosting.hosts import Hosts
from stead.node.processes import Run
from stead.node.wordpress.component_registry import Registry
from stead.node.wordpress.components import Components
from stead.node.wordpress.content_changes import change_content
from stead.node.wordpress.environments import Environments
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.question_files import QuestionFiles
from stead.node.wordpress.site_questions import SiteQuestions
from stead.node.wordpress.site_services import SiteServices
from stead.protocol.questions import NO_ENVIRONMENT, SUSPENDED, Question
from stead.protocol.work.cms import (
    ChangeComponents,
    ChangeContent,
    ComponentsChanged,
    DatabaseExported,
    ExportDatabase,
)
from stead.shared.ids import EnvironmentId

AT_ONCE, PER_TENANT = 4, 1
"""Exports that run on a node at the same time. No code of a customer runs in them."""
PlanProgram = Callable[[str], Awaitable[WordPressPlan]]
"""The plan of a program in an environment. Raises Refusal if it does not run."""


class CmsCommands:
    def __init__(
        self,
        home: Path,
        environments: Environments,
        hosts: Hosts,
        databases: NodeDatabases,
        runc: Runc,
        run: Run,
        space: DiskSpace,
        services: SiteServices,
        registry: Registry,
        plan_program: PlanProgram,
    ) -> None:
        self._environments, self._databases, self._services = environments, databases, services
        self._plan_program = plan_program
        socket = databases.databases.socket
        self._files = QuestionFiles(home / "files")
        self._questions = SiteQuestions(hosts.find, environments.paths, self._files)
        self.queries = SiteQueries(socket)
        self.components = Components(
            *(runc, registry, home / "components", self._questions.renew_code, hosts.budget)
        )
        self._exports = DatabaseExports(run, socket, home / "exports", space)
        self._export_places = FairPlaces(AT_ONCE, PER_TENANT)

    def clear(self) -> None:
        """Remove the files of work that was interrupted. Blocks."""
        self._exports.clear()
        self.components.clear()
        self._files.clear()

    async def answer(self, question: Question) -> bytes | None:
        until = time.monotonic() + question.seconds
        await self._environments.ready.wait()
        spec = self._environments.state.find_spec(question.environment)
        if spec is None:
            return None
        if spec.state != "installed":
            raise Refusal(NO_ENVIRONMENT, "WordPress is not installed yet")
        if question.kind.startswith("database."):
            return await self._answer_from_database(question, until)
        return await self._questions.ask(question, spec.settings.url)

    async def _answer_from_database(self, question: Question, until: float) -> bytes:
        desired = self._environments.get(question.environment)
        if desired.suspended:
            raise Refusal(SUSPENDED, "the environment is suspended")
        await self._databases.wait_until_ready()
        schema = schema_name(EnvironmentId(question.environment), desired.spec.datasets.schema)
        password = desired.secrets.database_password
        return await self.queries.answer(question.kind, question.body, schema, password, until)

    async def change_components(self, task: Assignment, work: ChangeComponents) -> ComponentsChanged:
        """Visitors are served meanwhile, as when somebody changes components in WordPress itself."""
        await self._plan_program(task.environment)
        desired = self._environments.get(task.environment)
        if desired.spec.settings.git_managed:
            raise Refusal("component.managed_in_git", "the code of this site comes from its repository")
        host = work.host or urlsplit(desired.spec.settings.url).hostname or ""
        wanted = msgspec.structs.replace(work, host=host)
        try:
            return await self.components.change(partial(self._environments.plan, desired), wanted, task)
        finally:
            # WordPress has changed in another process: pages in the cache may show what it was.
            self._services.adopt(task.environment)

    async def change_content(self, task: Assignment, work: ChangeContent) -> None:
        spec = self._environments.state.find_spec(task.environment)
        if spec is None or spec.state != "installed":
            raise Refusal("environment.not_found", "the environment is not on this node")
        # Any number at a time: the node only waits, and each site answers few questions at a time.
        await change_content(self._questions, spec.settings.url, task, work)

    async def export_database(self, task: Assignment, work: ExportDatabase) -> DatabaseExported:
        plan = await self._plan_program(task.environment)
        async with self._export_places.take(plan.tenant):
            if work.statement:
                return await self._exports.export_result(plan.database, task, work, self.queries)
            return await self._exports.export(plan.database, task, work)
