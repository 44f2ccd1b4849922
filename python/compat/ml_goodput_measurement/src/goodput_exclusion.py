"""Where the original keeps its accounting with exclusions; here it is the calculator's own."""

from ml_goodput_measurement.src.goodput import GoodputCalculator as GoodputExclusion
from ml_goodput_measurement.src.goodput_utils import BadputType, UnproductiveTimeDict

__all__ = ["BadputType", "GoodputExclusion", "UnproductiveTimeDict"]
