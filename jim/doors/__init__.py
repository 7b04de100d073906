"""How grid jobs come in: the inbox, and code that doors share."""
