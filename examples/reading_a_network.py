"""
Reading a network
=================

What a fitted classifier can be asked: which features matter, how probable values are, why a row was taken for
what it was, and what would be if.

Run: ``python examples/reading_a_network.py`` (needs matplotlib)
"""

# %%
# Tic-tac-toe boards at the end of a game; the class is whether x has won.
import matplotlib.pyplot as plt

from bnplug import BayesianNetworkClassifier, datasets, score_function, structure_learner

X, y = datasets.tic_tac_toe()
search = structure_learner("hill-climb", score=score_function("cr", cv=5), max_parents=3)
model = BayesianNetworkClassifier(search, random_state=0).fit(X, y)
print(f"{len(model.structure_.moves_)} moves from naive Bayes, accuracy on these boards {model.score(X, y):.3f}")

# %%
# The graph. The search is free: it may take the class's edge to a feature away, turn it, or join features.
figure, ax = plt.subplots(figsize=(8, 7))
model.plot(ax=ax)

# %%
# Where every square is known, only those in the Markov blanket of the class have a say.
print("the Markov blanket:", ", ".join(model.markov_blanket()))

# %%
# Every node has a table: the probabilities of its states (rows), given its parents' (columns).
print(model.cpt("middle-middle").round(3))

# %%
# Why is a board taken for a win? Each square's contribution to the log odds; with the prior they add up to the answer.
board = X[y == "positive"].tail(1)
print(board.to_numpy().reshape(3, 3))
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
model.plot_explanation(board, ax=ax)

# %%
# The same as a frame, for rows and classes at will.
reasons = model.explain(board)
of_win = reasons[reasons["class"] == "positive"].drop(columns=["row", "class"])
print(of_win.sort_values("contribution", key=abs, ascending=False).head(4).to_string(index=False))

# %%
# A network answers any question, not only the one about the class: here, whether x holds the centre, first of a board
# that x has won, then of one on which it has two corners as well.
print(model.query("middle-middle", {"class": "positive"}))
print(model.query("middle-middle", {"class": "positive", "top-left": "x", "bottom-right": "x"}))

# %%
# And it makes up boards that look like those it has seen.
print(model.sample(3, random_state=0).T)
plt.show()
