"""Order-based greedy learning of discriminative structures (Pernkopf and Bilmes 2008)."""
