"""For SciPy: the derivative at a point as a linear operator, of which no matrix is made."""

from scipy.sparse.linalg import LinearOperator

from raffia.data import Array
from raffia.model.vector_operator import FlatOperator


def jacobian(operator: FlatOperator, x: Array) -> LinearOperator:
    """F'(x), (output_size, input_size): products with it and its transpose are `jvp` and `vjp`, of matrices all columns at once."""
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
