"""Built-in tools: one file for a tool or a family; each lists its tools in ``TOOLS``."""
