"""Names in the database server of a node. The control plane shows them; the node creates what they name."""

_PEOPLE = "db"


def name_schema(environment: str, dataset: str = "") -> str:
    """The schema of a dataset of an environment, and the user of its site."""
    return f"{environment}_{dataset}" if dataset else environment


def name_people_account(environment: str) -> str:
    """The user of the people who connect to the database of an environment. The name stays when the
    environment gets another schema, and is never the name of a schema."""
    return f"{_PEOPLE}_{environment.partition('_')[2]}"
