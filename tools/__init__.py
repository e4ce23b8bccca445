"""Programs that make or check the project, and are no part of it."""
