"""The one error type of the library: what was wanted, what came, what to do."""


class RaffiaError(ValueError):
    """Bad input, a file that cannot be read, or a numerical method that failed.

    The message names the argument, what was wanted, what came, and what to do.

    Examples
    --------
    >>> import raffia
    >>> try:
    ...     raffia.fit("no_such_file.npz")
    ... except raffia.RaffiaError as error:
    ...     print("no_such_file.npz" in str(error))
    True
    """
