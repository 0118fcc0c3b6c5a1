"""A directory of results in the browser: served on this machine alone, to who has the token."""
