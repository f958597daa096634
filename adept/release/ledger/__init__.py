"""The ledger: the list of released records with their budgets."""
