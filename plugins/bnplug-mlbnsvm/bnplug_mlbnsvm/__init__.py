"""The maximum-likelihood BN-SVM (Peharz, Tschiatschek, Pernkopf 2013)."""
