"""A codec: it turns any text into a whole number below a chosen size K, and numbers into texts."""
