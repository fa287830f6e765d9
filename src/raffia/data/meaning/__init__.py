"""What the arrays of a file mean: which are inputs, which axes are samples, channels and grid, and in which space they live."""
