"""Users, levels, groups, tokens, limits and the audit trail."""
