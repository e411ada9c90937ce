"""What a person does in a browser when `stead login` shows an address and a code."""

import re
from html import unescape

import httpx

from stead.dev.stack import Stack


def approve(screen: str, stack: Stack) -> None:
    account = stack.secrets.account
    found = re.search(r"Open (\S+/device\?code=(\S+))", screen)
    assert account is not None
    assert found is not None, screen
    with httpx.Client(base_url=stack.api.url, timeout=60) as browser:
        assert found[2] in browser.get("/device", params={"code": found[2]}).text
        form = {"code": found[2], "email": account.email, "password": account.password}
        page = browser.post("/device", data=form)
        ticket = re.search(r'name="ticket" value="([^"]+)"', page.text)
        assert ticket is not None, page.text
        done = browser.post("/device", data={"ticket": unescape(ticket[1]), "decision": "approve"})
        assert "is signed in" in done.text
