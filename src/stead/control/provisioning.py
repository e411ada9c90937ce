"""What an operator does at the machine itself, without the API."""

from msgspec import convert

from stead.control.accounts import service as accounts
from stead.control.accounts.schema import NewAccount
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from stead.control.platform.database import Database
from stead.control.settings import from_environment
from stead.shared import scopes
from stead.shared.clock import wall_clock


async def open_account(
    email: str, name: str, plan: str, password: str, *, with_key: bool
) -> dict[str, str | None]:
    settings = from_environment()
    database = Database(settings.database_url, clock=wall_clock)
    wanted = convert({"email": email, "name": name, "password": password}, NewAccount)
    api_key = None
    async with database.transaction() as tx:
        account = await accounts.sign_up(tx, wanted, plan=plan)
        if with_key:
            grants = [scopes.EVERYTHING, *sorted(scopes.ISOLATED)]
            new = NewKey(scopes=grants, name="first key", expires_in_days=365)
            _, secret = await keys.mint(tx, accounts.owner_principal(account), new)
            api_key = secret.text
    await database.close()
    return {"account_id": account.id, "email": account.email, "password": password, "api_key": api_key}
