"""The URL of a file that a job has made, in the result of the job.

The result has the name of the object, and nothing else is stored: whoever has the URL can read the file. It
is signed when a caller reads the job who may also start such a job.
"""

from datetime import datetime

from stead.control.engines.object_store import ObjectStore
from stead.control.http.principal import Principal
from stead.control.jobs.rules import VisibleJob
from stead.control.jobs.schema import DOWNLOAD, JobView
from stead.shared.roles import MASK


def add_download(
    view: JobView, job: VisibleJob, caller: Principal, objects: ObjectStore, now: datetime
) -> JobView:
    """With the URL, if there is a file and the caller may read it."""
    if view.result is None or DOWNLOAD not in job.result:
        return view
    seconds = int((datetime.fromisoformat(job.result["expires_at"]) - now).total_seconds())
    if seconds > 0 and job.scope in caller.allowed and job.scope in MASK[job.role]:
        view.result[DOWNLOAD] = objects.presign_download(str(job.result[DOWNLOAD]), seconds=seconds)
    return view
