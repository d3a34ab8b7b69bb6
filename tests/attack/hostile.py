"""What the regression tests of this folder share: data, and learning that must go well."""

import numpy as np

from bnplug import BayesianNetworkClassifier

N = 40
X = np.random.default_rng(0).integers(0, 3, N)
Y = np.array(["a", "b"] * (N // 2))


def learn(columns, y=Y, structure="tan", sample_weight=None, **parameters):
    """Learn, answer, and leave out what only some columns can be asked for."""
    model = BayesianNetworkClassifier(structure, **parameters).fit(columns, y, sample_weight=sample_weight)
    assert np.isfinite(model.predict_proba(columns)).all()
    return model
