"""A linear classifier on the mean of some states: what one does with a large model without a network of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from sordino.split.exchange import Exchange
from sordino.split.heads import pooled
from sordino.split.tally import Sent

__all__ = ["FittedHead", "fit_head"]


@dataclass(frozen=True)
class FittedHead:
    """A trained linear classifier.

    Attributes:
        model: of scikit-learn.
        features: tokens' representations of an exchange, [sequences, longest, width].
        used: bytes that ``features`` takes.
        sent: bytes that training took.
    """

    model: Any
    features: Callable[[Exchange], torch.Tensor]
    used: Callable[[Exchange], Sent]
    sent: Sent

    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        means = pooled(self.features(exchange), exchange.mask)
        return torch.from_numpy(self.model.predict_proba(means.numpy())).float()

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self.used(exchange)


def fit_head(
    train: Exchange, *, features: Callable[[Exchange], torch.Tensor], used: Callable[[Exchange], Sent]
) -> FittedHead:
    """Fits a logistic regression on scaled features; its penalty is chosen by cross-validation on the training set.

    Args:
        train: the training sequences.
        features: see `FittedHead`.
        used: see `FittedHead`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    search = GridSearchCV(pipeline, {"logisticregression__C": [1e-4, 1e-3, 1e-2, 1e-1]}, scoring="neg_log_loss", cv=3)
    search.fit(pooled(features(train), train.mask).numpy(), train.labels.numpy())
    return FittedHead(search.best_estimator_, features, used, used(train))
