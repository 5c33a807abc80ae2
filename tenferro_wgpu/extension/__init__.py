"""What operation families outside the core hang on: caches and derivative rules per runtime."""
