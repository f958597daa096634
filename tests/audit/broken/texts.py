"""Rewriters whose texts depend on the record other than through its latent."""

from audit.defects import FakeRewriter


class CaseFromInput(FakeRewriter):
    def rewrite(self, texts: list[str]) -> list[str]:
        written = zip(super().rewrite(texts), texts, strict=True)
        return [text.upper() if record.startswith("b") else text for text, record in written]


class PunctuationFromInput(FakeRewriter):
    def rewrite(self, texts: list[str]) -> list[str]:
        written = zip(super().rewrite(texts), texts, strict=True)
        return [text + ("?" if record.count("a") > 2 else ".") for text, record in written]


class SpacesFromInput(FakeRewriter):
    def rewrite(self, texts: list[str]) -> list[str]:
        written = zip(super().rewrite(texts), texts, strict=True)
        return [text.replace(" ", "  ", 1) if len(record.split()) > 3 else text for text, record in written]


BROKEN = [CaseFromInput, PunctuationFromInput, SpacesFromInput]
