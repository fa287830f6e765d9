"""Other methods of operator learning, each as its own package's documentation tells a user to train it: a file each.

A file has `fit(a, y, task, seconds, seed)`, which returns a function from inputs to predictions. Arrays are float32, `(n, channels, *grid)`
for functions and `(n, size)` for parameters. `seconds` is the budget for tuning and training together.
"""
