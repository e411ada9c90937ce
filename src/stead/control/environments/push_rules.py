"""What keeps a push from happening. No I/O."""

from stead.shared.errors import Conflict


class NothingToPush(Conflict):
    code = "environment.nothing_to_push"
    message = "The environment shows nothing but its placeholder."
    remedy = "Deploy to it first, or refresh it from production."


class BackupUnverified(Conflict):
    code = "backup.unverified"
    message = "What production shows could not be verified to be restorable, so nothing was changed: {reason}"
    remedy = "Deploy production anew from a fresh build, then push again; tell the operator if it goes on."
