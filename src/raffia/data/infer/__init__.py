"""What a file means, inferred in one pass: each guess has a reason and a confidence, and `Guesses.take` alone decides what is asked."""

from raffia.data.infer.guess import Confidence, Guess, Guesses

__all__ = ["Confidence", "Guess", "Guesses"]
