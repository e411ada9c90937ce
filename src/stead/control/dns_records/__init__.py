"""DNS records of sites whose zone the platform serves."""
