"""The web page that shows the effect of a privacy budget; other machines need a token for it."""
