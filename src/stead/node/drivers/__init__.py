"""One file per engine behind the Protocols of `ports`; the sandbox, which simulates, is one of them."""
