"""The sign-in page of protected previews."""
