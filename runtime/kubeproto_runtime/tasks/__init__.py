"""Tasks that outlive their caller, and those that end without telling anybody."""
