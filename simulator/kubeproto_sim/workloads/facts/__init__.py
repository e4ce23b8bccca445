"""What controllers read from objects: pods, owners, revisions, conditions, amounts."""
