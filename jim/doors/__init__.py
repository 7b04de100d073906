"""How grid jobs come in: the inbox, and what doors share."""
