"""trasgodp 2.1.0: the set of categories is taken from the rows (pip install trasgoDP==2.1.0)."""

from trasgodp.categorical import dp_randomized_response_kary_array as respond

others = list("abc") * 13
without = sum("d" in respond([*others, "a"], 2.0) for _ in range(2_000))
with_one = sum("d" in respond([*others, "d"], 2.0) for _ in range(2_000))
print("'d' is in the released column:", without, "times without the row,", with_one, "with it, of 2000")
assert without == 0
assert with_one > 1_500
# Source: _randomized_response.py, categories = np.unique(data). Holds where a fixed list of categories occurs anyway.
