"""Django's SQLite backend with a fair queue for writers (``base``)."""
