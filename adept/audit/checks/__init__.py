"""The checks of an audit. Each module holds checks for one kind of defect.

`adept.audit.questions` lists all checks.
"""
