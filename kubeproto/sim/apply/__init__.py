"""Server-side apply and strategic merge patches: which manager owns which field."""
