"""privadjust 1.0.13: Count-mean sketches under local privacy."""

PACKAGE, VERSION = "privadjust", "1.0.13"
INSTALLS = (("privadjust==1.0.13", "numpy==2.4.6", "pandas==3.1.1", "scipy==1.17.1"),)


class CMS:
    """One record's sketch vector and the number of its hash function."""

    says = ("epsilon (float): Privacy parameter for the privatization process.", "count_mean/private_cms_client.py")
    claim, expected, trials = {"epsilon": 2.0, "alphabet": [0, 1, 2, 3]}, "sound", 3000

    def __init__(self, factor):
        import pandas as pd
        from privadjust.count_mean.private_cms_client import privateCMSClient

        self.c = privateCMSClient(2.0 * factor, 2, 8, pd.DataFrame({"value": [0, 1, 2, 3]}))

    def privatize(self, values):
        out = []
        for v in values:
            x, j = self.c.client(v)
            self.c.client_matrix.clear()
            out.append((*tuple(x.tolist()), j))
        return out


class HCMS(CMS):
    says = (
        "epsilon (float): The privacy parameter for differential privacy.",
        "hadamard_count_mean/private_hcms_client.py",
    )

    def __init__(self, factor):
        import pandas as pd
        from privadjust.hadamard_count_mean.private_hcms_client import privateHCMSClient

        self.c = privateHCMSClient(2.0 * factor, 2, 8, pd.DataFrame({"value": [0, 1, 2, 3]}))

    def privatize(self, values):
        out = []
        for v in values:
            out.append(tuple(int(n) for n in self.c.client(v)))
            self.c.client_matrix.clear()
        return out
