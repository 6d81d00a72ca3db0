"""Coordinates of a graph's nodes: eigenvectors of its normalised Laplacian.

With affinities W, weights w of rows and degrees d = W w, the coordinates are the solutions of
sum_j W_ij w_j f_j = lambda d_i f_i with the largest lambda below that of the constant, which is 1
(Belkin and Niyogi, 2003; Coifman and Lafon, 2006). Each has mean 0 and variance 1, rows counted by
w d; its element of the largest size is positive.
"""

import warnings

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

#: Up to here all eigenvalues are found, by a method that does not fail.
MAX_DENSE = 600
#: Lanczos vectors, and how often they are begun again before a factorisation is worth it.
N_LANCZOS, MAX_RESTARTS = 64, 10
#: Entries that are left out of a factorisation, and eigenvectors found beside those wanted.
LEAST_ENTRY, N_GUARDS = 1e-6, 3
#: Eigenvalues from here on are told from zero.
LEAST_EIGENVALUE = 1e-8
#: Affinity of rows that connect two parts of a graph, as a fraction of their degrees.
LINK = 1e-3


def find_coordinates(affinity, weight, n_components):
    """Return eigenvectors of the normalised Laplacian.

    Parameters
    ----------
    affinity : csr_matrix of shape (n_rows, n_rows)
        Symmetric; the graph is connected.
    weight : float64 ndarray of shape (n_rows,)
    n_components : int
        Coordinates, fewer than rows.

    Returns
    -------
    coordinates : float64 ndarray of shape (n_rows, n_components)
        Zeros where an eigenvalue is 0: the graph has no more to tell.
    eigenvalues : float64 ndarray of shape (n_components,)
        Those of the affinities divided by the degrees, descending; 1 is the largest possible.
    """
    degree = affinity @ weight
    root = sp.diags(np.sqrt(weight / degree))
    matrix = (root @ affinity @ root).tocsr()
    # Sums of BLAS depend on its threads.
    with threadpool_limits(1):
        values, vectors = _find_largest(matrix, np.sqrt(weight * degree), n_components + 1)
    order = np.argsort(-values, kind="stable")[1 : n_components + 1]
    values, vectors = values[order], vectors[:, order]
    coordinates = vectors * np.sqrt((weight @ degree) / (weight * degree))[:, None]
    largest = np.abs(coordinates).argmax(axis=0)
    coordinates *= np.where(coordinates[largest, np.arange(n_components)] < 0.0, -1.0, 1.0)
    is_flat = values < LEAST_EIGENVALUE
    coordinates[:, is_flat] = 0.0
    return np.ascontiguousarray(coordinates), np.where(is_flat, 0.0, values)


def _find_largest(matrix, first, n_vectors):
    """Return the largest eigenvalues of a normalised matrix, and their vectors.

    `first` is the vector of the eigenvalue 1.
    """
    n_rows = matrix.shape[0]
    if n_rows <= max(MAX_DENSE, 6 * (n_vectors + N_GUARDS)):
        span = [n_rows - n_vectors, n_rows - 1]
        return scipy.linalg.eigh(matrix.toarray(), subset_by_index=span)
    # With something of every vector in it.
    start = first * np.random.default_rng(0).uniform(0.5, 1.5, n_rows)
    options = {"which": "LA", "ncv": max(N_LANCZOS, 4 * n_vectors), "maxiter": MAX_RESTARTS}
    try:
        return sla.eigsh(matrix, k=n_vectors, v0=start, tol=1e-11, **options)
    except sla.ArpackNoConvergence:
        return _refine_inverse(matrix, start, n_vectors)


def _refine_inverse(matrix, start, n_vectors):
    """Return the same for matrices with many eigenvalues near 1, as those of long chains.

    Those of the inverse of 1 less the matrix are far apart. It is factored without the small
    entries, most of them in a graph of local neighbourhoods: vectors of that are a start, and
    it conditions the steps towards those of the matrix.
    """
    n_rows = matrix.shape[0]
    kept = matrix.tocsc(copy=True)
    kept.data[kept.data < LEAST_ENTRY] = 0.0
    kept.eliminate_zeros()
    factor = sla.splu(
        sp.identity(n_rows, format="csc") * (1.0 + LEAST_ENTRY) - kept,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    inverse = sla.LinearOperator(
        matrix.shape, matvec=factor.solve, matmat=factor.solve, dtype=np.float64
    )
    # A few more than wanted: the last to converge are those next to what is left out.
    k = n_vectors + N_GUARDS
    _, vectors = sla.eigsh(inverse, k=k, which="LM", v0=start, tol=1e-4)
    laplacian = sp.identity(n_rows, format="csr") - matrix
    with warnings.catch_warnings():
        # That residuals are ten times what was asked for is no matter for the user.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = sla.lobpcg(
            laplacian, vectors, M=inverse, largest=False, tol=1e-11, maxiter=100
        )
    return 1.0 - values, vectors


def connect_graph(affinity, Z):
    """Connect the parts of a graph, each to the rest where they are nearest.

    Parameters
    ----------
    affinity : csr_matrix of shape (n_rows, n_rows)
        Symmetric.
    Z : ndarray of shape (n_rows, n_features)
        Where the rows are.

    Returns
    -------
    affinity : csr_matrix
        With a weak link for each part but one.
    n_parts : int
        Parts there were.
    """
    n_parts, part = connected_components(affinity, directed=False)
    if n_parts == 1:
        return affinity, 1
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    size = np.bincount(part)
    first, second = [], []
    # The smallest first, so that few rows are compared with all others.
    while np.count_nonzero(size) > 1:
        own = np.where(size > 0, size, len(part) + 1).argmin()
        a, b = _find_nearest(Z, np.flatnonzero(part == own), np.flatnonzero(part != own))
        first.append(a)
        second.append(b)
        size[part[b]] += size[own]
        size[own] = 0
        part[part == own] = part[b]
    strength = LINK * np.minimum(degree[first], degree[second])
    links = sp.coo_matrix((strength, (first, second)), shape=affinity.shape)
    return (affinity + links + links.T).tocsr(), n_parts


def _find_nearest(Z, some, others):
    """Return the row of each group that is nearest to the other group."""
    best = np.inf, 0, 0
    A, B = Z[some].astype(np.float64), Z[others].astype(np.float64)
    b_squares = (B**2).sum(axis=1)
    step = max(1, 2**22 // len(others))
    for k in range(0, len(some), step):
        squares = b_squares - 2.0 * A[k : k + step] @ B.T
        squares += (A[k : k + step] ** 2).sum(axis=1)[:, None]
        i, j = np.unravel_index(squares.argmin(), squares.shape)
        if squares[i, j] < best[0]:
            best = squares[i, j], some[k + i], others[j]
    return best[1:]
