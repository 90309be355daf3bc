"""Words: a text's terms, how telling each is, and what it is near to in meaning."""
