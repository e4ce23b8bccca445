"""Programs that make or check the project, and are not part of it."""
