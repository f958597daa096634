"""The autoencoder: sizes, encoding, writing from a latent, its batches and its card."""
