"""The policy matrix that the portal ships with (docs/security.md)."""

from django.db import migrations

CATEGORIES = ("read", "write", "system", "finance")
SHIPPED = {
    "safe": ("confirm", "confirm", "confirm", "confirm"),
    "auto": ("auto", "auto", "confirm", "confirm"),
    "full-access": ("auto", "auto", "auto", "auto"),
}


def create(apps, schema_editor):
    cell = apps.get_model("tools", "MatrixCell")
    for level, outcomes in SHIPPED.items():
        for category, outcome in zip(CATEGORIES, outcomes, strict=True):
            cell.objects.create(level=level, category=category, outcome=outcome)


class Migration(migrations.Migration):
    dependencies = [("tools", "0001_initial")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
