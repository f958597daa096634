"""A codec, which maps any text to a number below a chosen size K, and each number to a text."""
