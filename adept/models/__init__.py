"""The public model: tokenizer, language model, codec, topics, network, training, adaptation.

Each of these parts imports only from the parts that are named before it.
"""
