"""A dataset card, for people who get a file without its history."""

from adept.release.facts import plain_name
from adept.release.statement import PrivacyStatement
from adept.release.wording import kind


def card(statement: PrivacyStatement, title: str) -> str:
    """Return a dataset card in Markdown, for people who get the file without its history."""
    fields = {
        key: value
        for key, value in statement.to_json().items()
        if isinstance(value, int | float | str) and key not in ("statement", "text_column", "label_column")
    }
    rows = "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in fields.items())
    return (
        "---\ntags: [differential-privacy, synthetic]\n---\n"
        f"# {plain_name(title)}\n\n## Privacy statement\n\n{statement.text}\n\n| | |\n|---|---|\n{rows}\n\n"
        f"Every text here was written from a randomised {kind(statement)}, not copied from its record. It may be wrong, and it "
        "may also be, word for word, what its record, or somebody else, said.\n"
    )
