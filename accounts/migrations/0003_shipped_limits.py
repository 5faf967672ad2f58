"""The limits that the portal ships with, for everyone (docs/admin-guide.md)."""

from django.db import migrations

SHIPPED = [("message", 10, 60), ("message", 200, 3600), ("tool_call", 30, 60)]


def create(apps, schema_editor):
    rule = apps.get_model("accounts", "LimitRule")
    for action, amount, seconds in SHIPPED:
        rule.objects.create(scope="everyone", action=action, amount=amount, seconds=seconds)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_append_only_audit")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
