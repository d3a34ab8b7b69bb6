"""A classifier for bnplug: networks of many samples of the rows, averaged."""
