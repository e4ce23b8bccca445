"""Programs that generate or check parts of the project."""
