# ruff: noqa: E501 - one line for each attempt is easier to read
"""What an attacker tries who runs PHP in one site.

Every attempt is PHP code that prints something only if it has succeeded. The names of the other site are known
to the attacker: they are no secret.
"""

SQL = 'mysqli_report(MYSQLI_REPORT_OFF); $db = mysqli_connect("localhost", DB_USER, DB_PASSWORD, DB_NAME, 0, SOCKET);'
"""A connection with the attacker's own password."""
PREPARE = (
    'error_reporting(0); set_time_limit(60); $config = file_get_contents("/etc/stead/wp-config.php");'
    ' foreach (["DB_USER", "DB_PASSWORD", "DB_NAME"] as $name) {'
    """ preg_match("/'$name', '([^']*)'/", $config, $found); define($name, $found[1]); }"""
    ' define("SOCKET", "/run/mysqld/mariadb.sock"); '
)


def reads(path: str) -> str:
    return f'echo file_get_contents("{path}");'


def writes(path: str) -> str:
    return f'if (file_put_contents("{path}", "x") !== false) echo "written";'


def connects(address: str) -> str:
    return f'if ($s = stream_socket_client("{address}", $code, $text, 2)) echo "connected";'


def queries(statement: str) -> str:
    return f'{SQL} if (($r = $db->query("{statement}")) && (!is_object($r) || $r->num_rows)) echo "answered";'


def fetches(url: str) -> str:
    return (
        f'$c = curl_init("{url}"); curl_setopt_array($c, [CURLOPT_RETURNTRANSFER => 1, CURLOPT_TIMEOUT => 5]);'
        " $b = curl_exec($c); if ($b !== false && curl_getinfo($c, CURLINFO_HTTP_CODE) < 400)"
        ' echo "fetched ", curl_getinfo($c, CURLINFO_HTTP_CODE);'
    )


ATTEMPTS = {
    # Files of the other site and of the node
    "other disk": reads("{home}/disk/site/wp-content/index.php"),
    "other secrets in memory": reads("{memory}/wp-config.php"),
    "other secrets by traversal": reads("/etc/stead/../../{memory}/wp-config.php"),
    "desired state": reads("{data}/hosting/wordpress.sqlite"),
    "journal": reads("{data}/journal.sqlite"),
    "disk image": reads("{data}/disks/{other}.ext4"),
    "data of MariaDB": reads("{data}/mariadb/data/mysql/global_priv.MAD"),
    "root of the host": reads("/proc/1/root/etc/shadow"),
    "memory of the first process": reads("/proc/1/mem"),
    "environment of the first process": 'if (strpos(file_get_contents("/proc/1/environ"), "STEAD_") !== false) echo 1;',
    "processes of the host": 'if (count(glob("/proc/[0-9]*")) > 20) echo "many";',
    "kernel memory": reads("/proc/kcore"),
    "kernel keys": reads("/proc/keys"),
    "host devices": 'foreach (glob("/dev/*") as $d) if (preg_match("/(sd|vd|loop|mem|kmsg)/", $d)) echo $d;',
    "kernel log": reads("/dev/kmsg"),
    "own disk as a device": 'if (shell_exec("mknod /tmp/disk b 7 0 && head -c1 /tmp/disk")) echo 1;',
    "symlink out of the site, read by PHP": 'symlink("{home}/disk/site", "/tmp/other"); echo file_get_contents("/tmp/other/wp-content/index.php");',
    # WordPress itself and the configuration belong to the platform
    "write core": writes("/srv/site/index.php"),
    "new file in core": writes("/srv/site/shell.php"),
    "write wp-admin": writes("/srv/site/wp-admin/x.php"),
    "write configuration": writes("/etc/stead/wp-config.php"),
    "write configuration of FPM": writes("/run/stead/fpm.conf"),
    "write guard": writes("/run/stead/prepend.php"),
    "write the platform's plugin": writes("/run/stead/platform/plugin.php"),
    "new file beside the platform's plugin": writes("/run/stead/platform/x.php"),
    "another socket of the agent": 'rename("/run/platform/agent.sock", "/run/platform/x"); clearstatcache(); if (file_exists("/run/platform/x")) echo "renamed";',
    "write image": writes("/usr/bin/x"),
    "write etc": writes("/etc/passwd"),
    "remove guard": 'if (unlink("/run/stead/prepend.php")) echo "removed";',
    "rename configuration": 'rename("/etc/stead/wp-config.php", "/tmp/c"); clearstatcache(); if (!file_exists("/etc/stead/wp-config.php")) echo "gone";',
    "write sysctl": writes("/proc/sys/kernel/core_pattern"),
    "trigger sysrq": writes("/proc/sysrq-trigger"),
    "write own limits": writes("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "change own oom score": 'if (file_put_contents("/proc/self/oom_score_adj", "-1000")) echo "changed";',
    # Privileges
    "run setuid programs": 'foreach (["su", "mount", "passwd", "chsh"] as $p) if ($o = shell_exec("$p --help >/dev/null 2>&1; id -u")) if (trim($o) === "0") echo $p;',
    "mount": 'echo shell_exec("mount -t tmpfs x /tmp 2>/dev/null && echo mounted");',
    "new user namespace": 'echo shell_exec("unshare -Ur id -u 2>/dev/null");',
    "new network namespace": 'echo shell_exec("unshare -n true 2>/dev/null && echo made");',
    "change user": 'echo shell_exec("setpriv --reuid 0 id -u 2>/dev/null");',
    "capabilities": 'if (preg_match("/CapEff:\\s+0*[1-9a-f]/", file_get_contents("/proc/self/status"))) echo "some";',
    "new privileges": 'if (strpos(file_get_contents("/proc/self/status"), "NoNewPrivs:\\t1") === false) echo "possible";',
    "no filter of system calls": 'if (strpos(file_get_contents("/proc/self/status"), "Seccomp:\\t2") === false) echo "off";',
    "trace another process": 'echo shell_exec("strace -p 1 2>/dev/null; gdb -p 1 -batch 2>/dev/null");',
    "run a program from uploads": 'copy("/bin/true", "/srv/site/wp-content/uploads/p"); chmod("/srv/site/wp-content/uploads/p", 0755); exec("/srv/site/wp-content/uploads/p 2>&1", $o, $c); if ($c === 0) echo "ran";',
    # Sockets and the network
    "socket of the agent's FPM of the other site": connects("unix://{home}/run/fpm.sock"),
    "way out of the other site": connects("unix://{home}/run/inside/egress.sock"),
    "agent, in the name of the other site": connects("unix://{home}/run/inside/agent.sock"),
    "admin socket of the edge": connects("unix://{data}/run/private/admin.sock"),
    "probe socket of the edge": connects("unix://{data}/run/private/probe.sock"),
    "inner socket of the edge": connects("unix://{data}/run/inner-off.sock"),
    "loopback of the host": connects("tcp://127.0.0.1:{port}"),
    "direct connection": connects("tcp://1.1.1.1:443"),
    "direct name server": connects("udp://1.1.1.1:53").replace(
        'echo "connected"', 'if (fwrite($s, "x") && fread($s, 1)) echo "answered"'
    ),
    "raw socket": 'if (socket_create(AF_INET, SOCK_RAW, 1)) echo "made";',
    "packet socket": 'if (socket_create(17, SOCK_RAW, 0)) echo "made";',
    "virtual machine socket": 'if (socket_create(40, SOCK_STREAM, 0)) echo "made";',
    "metadata address": fetches("http://169.254.169.254/latest/meta-data/"),
    "edge through the proxy": fetches("http://127.0.0.1:{port}/"),
    "edge by IPv6": fetches("http://[::1]:{port}/"),
    "edge by a decimal address": fetches("http://2130706433:{port}/"),
    "edge by a name": fetches("http://localhost:{port}/"),
    "private network": fetches("http://10.0.0.1/"),
    "mail port": connects("tcp://127.0.0.1:25"),
    "tunnel to ssh": '$s = stream_socket_client("tcp://127.0.0.1:3128", $e, $t, 2); fwrite($s, "CONNECT 127.0.0.1:22 HTTP/1.1\\r\\n\\r\\n"); $l = fgets($s); if (strpos($l, " 200 ")) echo $l;',
    "tunnel to the database": '$s = stream_socket_client("tcp://127.0.0.1:3128", $e, $t, 2); fwrite($s, "CONNECT localhost:3306 HTTP/1.1\\r\\n\\r\\n"); $l = fgets($s); if (strpos($l, " 200 ")) echo $l;',
    # Databases
    "tables of the other site": queries("select 1 from `{other}`.wp_users"),
    "names of other schemas": f'{SQL} foreach ($db->query("show databases") as $row) if ($row["Database"] !== DB_NAME && $row["Database"] !== "information_schema") echo $row["Database"];',
    "tables in information_schema": f'{SQL} foreach ($db->query("select table_schema, table_name from information_schema.tables") as $row) if (!in_array($row["table_schema"], [DB_NAME, "information_schema", "performance_schema"])) echo implode(".", $row), " ";',
    "passwords": queries("select 1 from mysql.global_priv"),
    "other users' statements": queries(
        "select 1 from information_schema.processlist where user <> substring_index(user(), '@', 1)"
    ),
    "sign in as the other site without a password": 'mysqli_report(MYSQLI_REPORT_OFF); if (mysqli_connect("localhost", "{other}", "", "", 0, SOCKET)) echo "in";',
    "sign in as root": 'mysqli_report(MYSQLI_REPORT_OFF); if (mysqli_connect("localhost", "root", "", "", 0, SOCKET)) echo "in";',
    "sign in as the other site with the own password": 'mysqli_report(MYSQLI_REPORT_OFF); if (mysqli_connect("localhost", "{other}", DB_PASSWORD, "", 0, SOCKET)) echo "in";',
    "read a file with the server": queries(
        "select 1 from (select load_file('/etc/passwd') as f) t where f is not null"
    ),
    "write a file with the server": queries("select 'x' into outfile '/tmp/x-{other}'"),
    "load a file into a table": queries("load data infile '/etc/passwd' into table wp_options"),
    "load a file of the client": queries("load data local infile '/etc/passwd' into table wp_options"),
    "create a schema": queries("create database mine"),
    "schema that a pattern would match": queries("create database `{pattern}`"),
    "create a user": queries("create user x@localhost"),
    "grant": queries("grant all on *.* to current_user()"),
    "global variable": queries("set global max_connections = 1"),
    "shut the server down": queries("shutdown"),
    "install a plugin of the server": queries("install soname 'ha_federatedx'"),
    "table of another server": f'{SQL} $db->query("create table f (a int) engine=federated connection=\'mysql://x@127.0.0.1/y/z\'"); foreach ($db->query("show create table f") as $row) if (stripos($row["Create Table"], "federated")) echo "made";',
    "end other connections": queries("kill 1"),
    "event": queries("create event e on schedule every 1 second do select 1"),
    "trigger as another user": queries(
        "create definer=root@localhost trigger t before insert on wp_options for each row set @x = 1"
    ),
}
