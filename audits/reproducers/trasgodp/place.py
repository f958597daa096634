"""trasgodp 2.1.0: metric_privacy seeds NumPy with 42 by default (pip install trasgoDP==2.1.0)."""

import pandas as pd
from trasgodp.geoindis import metric_privacy
from trasgodp.numerical import dp_clip_laplace_array


def noise(lat):
    return metric_privacy(pd.DataFrame({"lat": [lat], "lon": [-3.8]}), "lat", "lon", 0.001)["lat"][0] - lat


print("noise of three calls:", noise(43.0), noise(41.5), noise(-7.25))
assert abs(noise(43.0) - noise(41.5)) < 1e-12  # so a released place minus this number is the true one


def age():
    metric_privacy(pd.DataFrame({"lat": [43.0], "lon": [-3.8]}), "lat", "lon", 0.001)
    return dp_clip_laplace_array([40.0], 5.0, -100.0, 200.0)[0]


print("an age privatised afterwards, twice:", age(), age())
assert age() == age()  # the seed holds for the whole process
