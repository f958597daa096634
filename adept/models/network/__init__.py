"""The autoencoder: sizes and file, encoding, decoding, batches, and the card of a model directory."""
