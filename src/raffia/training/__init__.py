"""From pairs to a trained model, whole, in batches or on a cluster: everything but the estimator that users hold."""
