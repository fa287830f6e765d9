"""For SciPy: the derivative at a point as a linear operator, of which no matrix is made."""

from scipy.sparse.linalg import LinearOperator

from raffia.data import Array
from raffia.model.vector_operator import FlatOperator


def jacobian(operator: FlatOperator, x: Array) -> LinearOperator:
    """The Jacobian F'(x) of a model as a `LinearOperator` of SciPy.

    Products with it and its transpose are `operator.jvp` and `operator.vjp`.

    Parameters
    ----------
    operator
        `model.at(grid)`, or `model.at(grid, prior)`.
    x
        The point, a vector of length input_size.

    Returns
    -------
    LinearOperator
        Of shape (output_size, input_size).

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.adapters import jacobian
    >>> from raffia.problems import Burgers
    >>> a, y = Burgers(fine_points=64).dataset(10, points=32, seed=0)
    >>> operator = RandomFeatureModel(FourierFeatures(16), 20, ridge=1e-6).fit(a, y).at(32)
    >>> jacobian(operator, a[0].numpy()).shape
    (32, 32)
    """
    shape = operator.output_size, operator.input_size

    def at(columns: Array) -> Array:
        return x[None].repeat(columns.shape[1], 0)

    return LinearOperator(
        shape,
        matvec=lambda v: operator.jvp(x, v.reshape(-1)),
        rmatvec=lambda s: operator.vjp(x, s.reshape(-1)),
        matmat=lambda v: operator.jvp(at(v), v.T.copy()).T,
        rmatmat=lambda s: operator.vjp(at(s), s.T.copy()).T,
        dtype="float64",
    )
