"""Tasks that outlive their caller, and those that could end unnoticed."""
