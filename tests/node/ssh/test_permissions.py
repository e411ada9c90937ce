import pytest

from stead.node.access.table import Admission
from stead.node.ssh.messages import Kind, Start
from stead.node.ssh.permissions import SessionRefused, permit, transfer_argv

EVERYTHING = Admission("env_1", "site_1", "acct_1", "key_1", "SHA256:x", may_run_commands=True)
FILES = Admission("env_1", "site_1", "acct_1", "key_1", "SHA256:x", may_run_commands=False)
PASSWORD = Admission("env_1", "site_1", "acct_1", "pwd_1", "", may_run_commands=False)


@pytest.mark.parametrize(
    ("admission", "kind", "command", "started"),
    [
        (EVERYTHING, "shell", "", "shell"),
        (EVERYTHING, "command", "rsync --server . x", "command"),
        (EVERYTHING, "command", "internal-sftp", "sftp"),
        (FILES, "command", "/usr/lib/openssh/sftp-server", "sftp"),
        (FILES, "sftp", "", "sftp"),
        (FILES, "database", "", "database"),
        (FILES, "command", "rsync --server -logDtpre.iLsfxCIvu . wp-content/", "transfer"),
        (FILES, "command", "scp -r -t -- 'a b'", "transfer"),
        (PASSWORD, "sftp", "", "sftp"),
        (PASSWORD, "command", "scp -f x", "transfer"),
    ],
)
def test_what_a_credential_may_start(admission: Admission, kind: Kind, command: str, started: Kind):
    assert permit(admission, Start(0, kind, command)).kind == started


@pytest.mark.parametrize(
    ("admission", "kind", "command"),
    [
        (FILES, "shell", ""),
        (FILES, "command", ""),
        (FILES, "command", "id"),
        (FILES, "command", "internal-sftp; id"),
        (FILES, "command", "rsync"),
        (FILES, "command", "rsync --server --daemon ."),
        (FILES, "command", "/opt/rsync --server . x"),
        (FILES, "command", "scp -S id -t x"),
        (FILES, "command", "scp -o ProxyCommand=id -t x"),
        (FILES, "command", "scp -t -f x"),
        (FILES, "command", "scp x"),
        (FILES, "command", "scp 'unbalanced"),
        (PASSWORD, "database", ""),
        (PASSWORD, "shell", ""),
    ],
)
def test_what_a_credential_may_not_start(admission: Admission, kind: Kind, command: str):
    with pytest.raises(SessionRefused):
        permit(admission, Start(0, kind, command))


def test_a_transfer_is_never_read_by_a_shell():
    assert transfer_argv("rsync --server . '$(id)' ;id") == (
        *("/usr/bin/rsync", "--server", ".", "$(id)", ";id"),
    )
