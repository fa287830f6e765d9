"""The one error type of the library: what was wanted, what came, what to do."""


class RaffiaError(ValueError):
    """Bad input, a file that cannot be read, or a numerical method that failed; the message names the remedy."""
