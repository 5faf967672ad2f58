import pytest
from django.db import connection, transaction
@pytest.mark.django_db
def test_x():
    from accounts.services import audit_record, audit_verify
    from accounts.models import AuditEntry
    e=audit_record("a.b",actor="x"); audit_record("a.c",actor="x")
    with connection.cursor() as c:
        try:
            with transaction.atomic():
                if connection.vendor=="sqlite":
                    c.execute("INSERT OR REPLACE INTO accounts_auditentry SELECT id, at, 'mallory', action, target, via, data, previous, hash FROM accounts_auditentry WHERE id=%s",[e.pk])
                else:
                    c.execute("TRUNCATE accounts_auditentry")
            print("HOLE", list(AuditEntry.objects.values_list("actor",flat=True)), audit_verify())
        except Exception as x: print("REFUSED",x)
