"""Run with a client of another description on the path: works with whatever server there is."""

import json
import sys

from stead_sdk import Stead, errors


def main(address: str, key: str) -> dict[str, object]:
    with Stead(key, base_url=address) as client:
        team = client.teams.create(name="from another time")
        names = [each.name for each in client.teams.list()]
        client.teams.update(team.team_id, name="changed")
        job = client.sites.create(domain="old-client.example.com", profile="static")
        code = None
        try:
            client.sites.get("site_" + "0" * 26)
        except errors.NotFound as error:
            code = error.code
        client.teams.delete(team.team_id)
        account = client.account.get()
        read = {name: getattr(account, name) for name in account._fields}
        return {"names": names, "job": job.job.status, "code": code, "account": read["id"]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
