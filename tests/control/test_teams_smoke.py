from tests.people import Person
from tests.client import Client, code_of

async def test_smoke(person: Person, new_person, plane):
    other = await new_person()
    made = await person.session.post("/v1/teams", json={"name": "T"})
    assert made.status_code == 201, made.text
    team = made.json()["data"]["team_id"]
    print((await person.session.get("/v1/teams")).json())
    assert code_of(await other.session.get(f"/v1/teams/{team}")) == "team.not_found"
    r = await person.session.post(f"/v1/teams/{team}/members", json={"client_id": other.id, "role": "observer"})
    assert r.status_code == 204, r.text
    assert code_of(await other.session.patch(f"/v1/teams/{team}", json={"name": "x"})) == "role.insufficient"
    print((await person.session.get(f"/v1/teams/{team}/members")).json())
    r = await person.session.post(f"/v1/teams/{team}/invites", json={"role": "admin", "email": "a@b.de"})
    print(r.json())
    print((await person.session.get(f"/v1/teams/{team}/audit")).json())
    print((await person.session.get(f"/v1/teams/{team}/plan")).json())
    p = (await person.session.post(f"/v1/teams/{team}/projects", json={"name": "p"})).json()["data"]
    print((await person.session.get(f"/v1/teams/{team}/projects/{p['id']}/sites")).json())
    print((await person.session.get(f"/v1/teams/{team}/sites")).json())
    print((await person.session.get(f"/v1/projects")).json())
    k = await person.key(resource=__import__("stead.control.platform.principal").control.platform.principal.Pin("team", team))
    print((await k.get("/v1/teams")).json(), code_of(await k.post("/v1/teams", json={"name": "x"})))
    assert (await other.session.delete(f"/v1/teams/{team}/members/{other.id}")).status_code == 204
    assert code_of(await person.session.delete(f"/v1/teams/{team}/members/{person.id}")) == "team.last_owner"
    print((await person.session.get("/v1/account/audit")).json())
    assert (await person.session.delete(f"/v1/teams/{team}")).status_code == 204
