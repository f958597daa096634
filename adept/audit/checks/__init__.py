"""What an audit looks at, one question a module; `adept.audit.questions` is the table of them."""
