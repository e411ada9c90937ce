"""DNS records of sites."""

from stead.control.dns_records import operations, service
from stead.control.dns_records.delegation import DelegationChecker
from stead.control.dns_records.publisher import ZonePublisher
from stead.control.engines.dns_records import DnsRecords
from stead.control.engines.powerdns import PowerDns
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices

PUBLISH_SECONDS, COMPARE_SECONDS, CHECK_SECONDS = 1.0, 30.0, 15.0


def _tasks(worker: WorkerServices) -> list[Task]:
    settings = worker.settings
    if not settings.powerdns_url:
        return []
    server = PowerDns(settings.powerdns_url, settings.powerdns_key)
    publisher = ZonePublisher(worker.database, server, settings.nameservers)
    checker = DelegationChecker(worker.database, DnsRecords(settings.dns_resolver), settings.nameservers)
    return [
        PeriodicTask("dns.publish", PUBLISH_SECONDS, publisher.publish_due),
        PeriodicTask("dns.compare", COMPARE_SECONDS, publisher.compare),
        PeriodicTask("dns.delegation", CHECK_SECONDS, checker.check_due),
    ]


FEATURE = Feature(
    name="dns_records",
    operations=[operations.operation],
    resolvers=[service.visible_record],
    id_prefixes={"record_id": "rec"},
    tasks=_tasks,
)
