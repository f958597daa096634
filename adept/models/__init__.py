"""The public model: tokenizer, sentences, topics, network, training, adaptation."""
