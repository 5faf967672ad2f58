"""The processes of one portal: the embedded servers and the supervisor that `manage.py up` runs."""
