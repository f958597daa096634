"""The public model: tokenizer, language model, codec, topics, network, training, adaptation."""
