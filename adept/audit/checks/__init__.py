"""The checks of an audit, with one module for each kind of defect."""
