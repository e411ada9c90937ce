"""Every kind of job under every fault at every step: it ends, and nothing is doubled or half done."""
