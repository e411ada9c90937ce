"""Every kind of job under every fault at every step: it ends, and nothing is done twice or left half done."""
