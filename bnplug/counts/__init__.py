"""Sums over rows: contingency counts, and the information measures that they give."""
