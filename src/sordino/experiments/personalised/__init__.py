"""Personal recognisers: several federated methods on the same speakers, start and compute, and what came of each."""

from sordino.experiments.personalised.running import run_personalised

__all__ = ["run_personalised"]
