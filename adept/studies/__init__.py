"""Studies: figures and limits from papers, recomputed and compared with the published values."""
