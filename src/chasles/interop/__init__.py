"""Other libraries' names, argument orders and conventions, for their users; the mechanics are Chasles' own."""
