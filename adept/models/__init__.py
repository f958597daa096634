"""The autoencoder, what it is trained towards, and its training."""
