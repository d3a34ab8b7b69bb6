"""Risk minimisation by cross validation (Kelner and Lerner 2012)."""
