"""The small kernel that every app leans on: no models, no app imports."""
