"""Parameters and structures chosen by rows that are left out."""
