"""The public model: tokenizer, language model, codec, topics, network, training and adaptation. A room imports from those before
it."""
