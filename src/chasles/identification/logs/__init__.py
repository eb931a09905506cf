"""Recordings of motions: reading them, their columns, and what is wrong with them."""
