"""Sample traces for the suites that cover every operation."""

from tests.control.insights.recorded import TRACE
from tests.feature_samples import Samples, Values
from tests.people import Person


async def _trace(_person: Person, _made: Values) -> str:
    """Visitors may choose the ids of traces, so any id can be asked for."""
    return TRACE


SAMPLES = Samples(path_makers={"trace_id": _trace}, path_ids={"trace_id": lambda _: TRACE})
