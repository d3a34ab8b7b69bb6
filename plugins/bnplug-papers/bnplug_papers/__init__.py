"""Reproductions of the papers behind the methods of bnplug: protocols, published tables, results and pages."""
