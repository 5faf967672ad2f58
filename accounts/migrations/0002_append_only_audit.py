"""The audit trail refuses UPDATE and DELETE in the database itself."""

from django.db import migrations

SQLITE = [
    f"CREATE TRIGGER audit_no_{verb.lower()} BEFORE {verb} ON accounts_auditentry "
    "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END"
    for verb in ("UPDATE", "DELETE")
] + [
    # INSERT OR REPLACE would change a row without an UPDATE.
    "CREATE TRIGGER audit_no_replace BEFORE INSERT ON accounts_auditentry "
    "WHEN EXISTS (SELECT 1 FROM accounts_auditentry WHERE id = NEW.id) "
    "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END",
]
POSTGRESQL = [
    """
    CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$
    """,
    "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON accounts_auditentry "
    "FOR EACH ROW EXECUTE FUNCTION audit_append_only()",
    "CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON accounts_auditentry "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()",
]
DROP = {
    "sqlite": [
        "DROP TRIGGER audit_no_update",
        "DROP TRIGGER audit_no_delete",
        "DROP TRIGGER audit_no_replace",
    ],
    "postgresql": [
        "DROP TRIGGER audit_append_only ON accounts_auditentry",
        "DROP TRIGGER audit_no_truncate ON accounts_auditentry",
        "DROP FUNCTION audit_append_only()",
    ],
}


def create(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    for statement in DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
