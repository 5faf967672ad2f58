"""Reading for the doors: rows in the shapes that clients get."""
