"""Models out and in again: the model folder, and the network files BIF, XMLBIF, XDSL and NET."""
