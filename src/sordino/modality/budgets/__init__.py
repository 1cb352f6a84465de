"""How a budget is divided over the parts of a branch that are released."""

from sordino.modality.budgets.base import BUDGETS, Budget, Demand

__all__ = ["BUDGETS", "Budget", "Demand"]
