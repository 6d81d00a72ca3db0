"""Why a fitted model predicts what it does: Shapley values of single predictions."""

from obtree.explain.shap_dict import to_shap_dict
from obtree.explain.values import expected_value, explain, shap_values

__all__ = ["expected_value", "explain", "shap_values", "to_shap_dict"]
