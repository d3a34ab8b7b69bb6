"""From the user's columns to coded tables."""
