"""DNS records of sites."""

from stead.control.certificates.preflight import Preflight
from stead.control.dns_records import operations, service
from stead.control.dns_records.delegation import DelegationChecker
from stead.control.dns_records.proving import ZoneProver
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
    edges, resolver = Preflight(settings.edge_addresses), DnsRecords(settings.dns_resolver)
    publisher = ZonePublisher(worker.database, server, settings.nameservers, edges)
    checker = DelegationChecker(worker.database, resolver, settings.nameservers)
    prover = ZoneProver(worker.database, resolver)
    return [
        PeriodicTask("dns.publish", PUBLISH_SECONDS, publisher.publish_due),
        PeriodicTask("dns.compare", COMPARE_SECONDS, publisher.compare),
        PeriodicTask("dns.delegation", CHECK_SECONDS, checker.check_due),
        PeriodicTask("dns.prove", CHECK_SECONDS, prover.check_due),
    ]


FEATURE = Feature(
    name="dns_records",
    operations=[operations.operation],
    resolvers=[service.visible_record],
    id_prefixes={"record_id": "rec"},
    tasks=_tasks,
)
