"""Models out and in again: BIF, XMLBIF and the model folder."""
