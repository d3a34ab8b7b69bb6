"""skops keeps a fitted classifier, once its classes are trusted by name."""

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skops.io.exceptions import UntrustedTypesFoundException

from bnplug import BayesianNetworkClassifier, make_classifier
from bnplug.datasets import iris


@pytest.mark.parametrize(
    "model",
    [
        BayesianNetworkClassifier("nb"),
        BayesianNetworkClassifier("kdb", missing="value", calibrate="evidence"),
        BayesianNetworkClassifier("tan", engine="junction-tree"),
        BayesianNetworkClassifier("tan", engine="sampling"),
        make_classifier("tan+ccbn-w"),
        make_pipeline(FunctionTransformer(), BayesianNetworkClassifier("tan")),
    ],
    ids=["nb", "kdb", "junction-tree", "sampling", "tan+ccbn-w", "pipeline"],
)
def test_a_fitted_classifier_comes_back(model):
    X, y = iris()
    data = skops.io.dumps(model.fit(X, y))
    with pytest.raises(UntrustedTypesFoundException, match="BayesianNetworkClassifier"):
        skops.io.loads(data)
    trusted = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("bnplug") or name == "numpy.dtype" for name in trusted)
    loaded = skops.io.loads(data, trusted=trusted)
    incomplete = X.assign(**{"petal width (cm)": np.nan})
    for rows in (X, incomplete):
        assert (loaded.predict_proba(rows) == model.predict_proba(rows)).all()
