"""What customers decide about how their visitors are met: configuration, redirects, the page cache."""
