"""What is on a node of WordPress sites and belongs to none of them."""

import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from pathlib import Path

from stead.mariadb.connection import connect
from stead.node.containers import cgroups
from stead.node.containers.disks import mounted_below
from stead.node.containers.limits import MEMORY
from stead.node.databases.names import is_schema_name, schema_name
from stead.node.images.image_store import ImageStore
from stead.node.wordpress.paths import EnvironmentPaths, container_prefix
from stead.shared.ids import EnvironmentId

IMAGES = ("php8.2", "php8.4", "wordpress")
HELD = ("php8.2", "wordpress")
"""What every site of these tests uses in the end."""
IN_MEMORY = {"wp-config.php", "fpm.conf", "bundle"}
"""What a site has in its directory in memory while it is awake."""


def find_leftovers(
    data: Path, images: Path, database: Path, datasets: Mapping[str, str], known: Collection[str]
) -> dict[str, set[str]]:
    """What belongs to no living site, and what such a site lacks. `datasets` are those that the living sites
    serve. `known` are the sites that were ever on the node: others may use the same images."""
    living = set(datasets)
    paths = [EnvironmentPaths(data, name, dataset) for name, dataset in datasets.items()]
    containers = {each.container_name for each in paths}
    disks = {each.disk_file.name for each in paths}
    schemas = {schema_name(EnvironmentId(name), dataset) for name, dataset in datasets.items()}
    held = {f"{image} {name}" for image in HELD for name in living}
    found = {
        "disks": (names_in(data / "disks"), disks),
        "loop devices": (_loop_devices(data), disks),
        "environments": (names_in(data / "environments"), living),
        "mounts": (set(map(str, mounted_below(data / "environments"))), {str(each.disk) for each in paths}),
        "dumps": (names_in(data / "hosting" / "dumps"), set()),
        "control groups": ({group[1:] for group in cgroups.find(container_prefix(data))}, containers),
        "containers": (names_in(data / "hosting" / "runc"), containers),
        "installers": (names_in(data / "hosting" / "runc-jobs"), set()),
        "memory": (
            _files_in_memory(container_prefix(data)),
            {f"{container}/{name}" for container in containers for name in IN_MEMORY},
        ),
        "schemas": (_names(database, "select schema_name from information_schema.schemata"), schemas),
        "users": (_names(database, "select user from mysql.user"), schemas),
        "images": ({each for each in _holders(images) if each.split()[1] in known}, held),
        "desired state": (_desired(data), living),
    }
    return {what: there ^ wanted for what, (there, wanted) in found.items() if there != wanted}


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} if directory.exists() else set()


def _loop_devices(data: Path) -> set[str]:
    """The names of the files behind them."""
    found: set[str] = set()
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            found.add(path.read_text().strip())
    return {Path(name).name for name in found if Path(name).is_relative_to(data)}


def _files_in_memory(prefix: str) -> set[str]:
    return {f"{path.name}/{name}" for path in MEMORY.glob(f"{prefix}*") for name in names_in(path)}


def _names(database: Path, statement: str) -> set[str]:
    with connect(database) as connection:
        return {str(name) for (name,) in connection.execute(statement) if is_schema_name(str(name))}


def _holders(images: Path) -> set[str]:
    store = ImageStore(images)
    return {f"{image} {holder}" for image in IMAGES for holder in store.holders(store.find(image))}


def _desired(data: Path) -> set[str]:
    with closing(sqlite3.connect(data / "hosting" / "wordpress.sqlite")) as state:
        return {name for (name,) in state.execute("select environment from environments")}
