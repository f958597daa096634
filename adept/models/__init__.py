"""The public model: tokenizer, language model, codec, topics, network, training, adaptation.

Each part imports only from those named before it.
"""
