"""Figures that the papers print. Errors are percent of wrong classes of the test rows.

What a paper only draws is not here: curves were not read off pictures.
"""

from typing import NamedTuple


class Shape(NamedTuple):
    """Size of a data set in a paper."""

    title: str
    n_train: int
    n_test: int
    n_classes: int
    n_features: int


# Norouzi, Collins, Fleet, Kohli (2015), CO2 Forest: Improved Random Forest by Continuous
# Optimization of Oblique Splits, Table 1. Sizes of the forests, then errors by method.
CO2_TREES = (10, 30, 1000)
CO2_SHAPES = {
    "satimage": Shape("SatImage", 4_435, 2_000, 6, 36),
    "usps": Shape("USPS", 7_291, 2_007, 10, 256),
    "pendigits": Shape("Pendigits", 7_494, 3_498, 10, 16),
    "letter": Shape("Letter", 15_000, 5_000, 26, 16),
    "protein": Shape("Protein", 17_766, 6_621, 3, 357),
    "connect4": Shape("Connect4", 55_000, 12_557, 3, 126),
    "mnist": Shape("MNIST", 60_000, 10_000, 10, 784),
    "sensit": Shape("SensIT", 78_823, 19_705, 3, 100),
    "covertype": Shape("Covertype", 500_000, 81_012, 7, 54),
}
CO2_ERRORS = {
    "axis": {
        "satimage": (10.1, 9.4, 8.9),
        "usps": (9.0, 7.2, 6.4),
        "pendigits": (3.9, 3.3, 3.5),
        "letter": (6.6, 4.7, 3.7),
        "protein": (39.9, 35.5, 30.9),
        "connect4": (18.9, 17.4, 16.2),
        "mnist": (4.5, 3.5, 2.8),
        "sensit": (15.5, 14.0, 13.4),
        "covertype": (3.2, 2.8, 2.6),
    },
    "oc1": {
        "satimage": (10.1, 9.9, 9.5),
        "usps": (7.1, 7.1, 6.8),
        "pendigits": (3.2, 2.2, 2.3),
        "letter": (7.6, 5.0, 3.8),
        "protein": (39.1, 34.6, 30.8),
        # N/A in the paper for the others: more than 24 hours for a tree on MNIST.
    },
    "co2": {
        "satimage": (9.6, 9.1, 8.9),
        "usps": (5.8, 5.9, 5.5),
        "pendigits": (1.8, 1.7, 1.7),
        "letter": (3.2, 2.3, 1.8),
        "protein": (33.8, 31.2, 30.3),
        "connect4": (17.1, 15.7, 14.7),
        "mnist": (2.5, 2.0, 1.9),
        "sensit": (14.1, 13.0, 12.5),
        "covertype": (3.1, 2.7, 2.6),
    },
}

# Seyedhosseini, Tasdizen (2015), Disjunctive normal random forests, Pattern Recognition 48.
# Two classes: two thirds of the rows for training, means of 50 runs (Tables 2, 3 and 4).
DNRF_BINARY = {
    "ionosphere": "Ionosphere",
    "wdbc": "Wisconsin breast cancer",
    "german_numeric": "German credit",
    "pima": "PIMA diabetes",
    "heart_statlog": "Hearts",
    "ijcnn": "IJCNN",
    "australian": "Australian credit",
    "sonar": "Sonar",
}
DNRF_TREES = {  # Table 2
    "Decision tree": (12.48, 6.08, 32.73, 31.59, 27.62, 4.79, 19.72, 29.57),
    "ANN": (12.10, 2.28, 26.96, 22.11, 20.26, 2.02, 15.65, 30.43),
    "Soft decision tree": (11.97, 2.12, 25.53, 20.78, 13.33, 2.27, 16.59, 30.43),
    "DNDT": (7.15, 1.89, 24.44, 20.56, 13.11, 1.94, 15.30, 22.55),
}
DNRF_SECONDS = {  # Table 3
    "Decision tree": (0.009, 0.009, 0.010, 0.008, 0.022, 0.500, 0.018, 0.015),
    "ANN": (0.395, 0.854, 0.746, 0.356, 0.956, 1860.81, 0.486, 0.204),
    "Soft decision tree": (0.267, 0.657, 1.858, 0.410, 0.073, 34958.626, 0.392, 0.232),
    "DNDT": (0.036, 0.033, 0.228, 0.095, 0.031, 535.36, 0.077, 0.045),
}
DNRF_FORESTS = {  # Table 4
    "SVM": (4.27, 1.59, 26.12, 22.35, 21.11, 1.31, 14.85, 17.39),
    "Boosted trees": (5.16, 2.38, 24.29, 23.29, 15.00, 1.39, 14.23, 18.49),
    "ORF-ridge": (5.69, 1.63, 25.10, 23.25, 15.07, 1.68, 16.14, 24.12),
    "ORF-svm": (4.32, 1.58, 24.23, 23.25, 13.18, 1.87, 15.50, 27.86),
    "ORF-log": (4.50, 1.74, 25.23, 22.43, 15.27, 1.62, 15.84, 24.52),
    "Rotation forest": (5.04, 1.82, 25.23, 21.63, 19.05, 2.14, 16.09, 23.12),
    "Random forest": (6.99, 2.15, 24.71, 23.92, 15.11, 2.00, 15.81, 25.48),
    "DNRF": (3.38, 0.53, 22.91, 19.41, 12.22, 1.14, 13.56, 18.14),
}
# Several classes, the split of the data, means of 50 runs (Table 6).
DNRF_MULTI = {
    "pendigits": "Pendigit",
    "optdigits": "Optdigit",
    "satimage": "Landsat",
    "letter": "Letter",
}
DNRF_MULTI_TRAIN = {"letter": 16_000}
DNRF_MULTI_ERRORS = {
    "GD-MCBoost": (7.06, 7.68, 13.35, 40.35),
    "Space partitioning": (4.32, 4.23, 13.95, 13.08),
    "Random forest": (3.87, 3.22, 10.49, 4.70),
    "DNRF": (2.17, 2.30, 9.63, 2.05),
}


class Forest(NamedTuple):
    """A line of a table of Carreira-Perpinan and Zharmagambetov."""

    data: str
    model: str
    error: str
    trees: int
    depth: int


# Carreira-Perpinan, Zharmagambetov (2020), Ensembles of Bagged TAO Trees Consistently Improve
# over Random Forests, AdaBoost and Gradient Boosting, FODS; tables of the slides.
TAO_TITLES = {"mnist": "MNIST", "char74k": "Char74k", "imagenet": "ImageNet, 64 classes"}
TAO_FORESTS = (
    Forest("mnist", "CART", "12.11±0.04", 1, 50),
    Forest("mnist", "TAO-c", "5.25±0.20", 1, 8),
    Forest("mnist", "TAO-l", "5.07±0.13", 1, 5),
    Forest("mnist", "AdaBoost", "2.96±0.05", 1_000, 30),
    Forest("mnist", "RF", "2.84±0.06", 1_000, 48),
    Forest("mnist", "ADF", "2.71±0.10", 100, 25),
    Forest("mnist", "TAO-c", "2.31±0.08", 40, 8),
    Forest("mnist", "XGBoost", "2.17±0.00", 10_000, 30),
    Forest("mnist", "rRF", "2.05±0.02", 100, 25),
    Forest("mnist", "TAO-l", "2.02±0.06", 30, 6),
    Forest("char74k", "CART", "32.14±0.15", 1, 55),
    Forest("char74k", "TAO-c", "23.94±0.37", 1, 12),
    Forest("char74k", "TAO-l", "20.82±0.31", 1, 4),
    Forest("char74k", "XGBoost", "17.04±0.00", 62_000, 50),
    Forest("char74k", "AdaBoost", "16.93±0.18", 1_000, 60),
    Forest("char74k", "ADF", "16.67±0.21", 100, 25),
    Forest("char74k", "RF", "16.61±0.14", 1_000, 65),
    Forest("char74k", "rRF", "15.40±0.10", 100, 25),
    Forest("char74k", "TAO-c", "15.19±0.18", 30, 12),
    Forest("char74k", "TAO-l", "15.00±0.17", 30, 4),
    Forest("imagenet", "CART", "44.62±0.32", 1, 296),
    Forest("imagenet", "TAO-c", "14.69±0.18", 1, 13),
    Forest("imagenet", "RF", "13.62±0.32", 100, 220),
    Forest("imagenet", "RF", "12.51±0.11", 1_000, 220),
    Forest("imagenet", "XGBoost", "12.51", 6_400, 50),
    Forest("imagenet", "XGBoost", "10.78", 64_000, 50),
    Forest("imagenet", "TAO-l", "10.45±0.19", 1, 3),
    Forest("imagenet", "TAO-c", "8.25±0.11", 30, 13),
    Forest("imagenet", "TAO-l", "8.19±0.13", 30, 3),
)
