"""Compare it with one network on held-out rows, then save it and load it again."""

from tempfile import TemporaryDirectory

from sklearn.model_selection import cross_val_score

import bnplug
from bnplug.datasets import iris

X, y = iris()
for name in ("tan", "my-classifier"):
    log_loss = -cross_val_score(bnplug.make_classifier(name, random_state=0), X, y, cv=5, scoring="neg_log_loss")
    print(f"{name}: log loss {log_loss.mean():.3f}")
with TemporaryDirectory() as folder:
    bnplug.save(bnplug.make_classifier("my-classifier", random_state=0).fit(X, y), f"{folder}/model")
    print(bnplug.load(f"{folder}/model"))
