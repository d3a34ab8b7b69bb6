"""The table of all claims."""

from bnplug_papers.kit import Page


def test_every_claim_has_a_row_and_every_page_a_place():
    first, second = Page("a2026", "A", ""), Page("b2026", "B", "")
    first.claim("P | Q.", True, "x" * 90 + "; " + "y" * 90, (1, 2), "sets")
    first.claim("R.", False, "3 of 4")
    second.claim("S.", None, "no data")
    lines = Page.index([first, second]).splitlines()
    rows = [line for line in lines if line.startswith("| [")]
    assert rows == [
        f"| [a2026](a2026.md) | P \\| Q. | yes, on 1 of 2 sets | {'x' * 90} ... |",
        "| [a2026](a2026.md) | R. | no | 3 of 4 |",
        "| [b2026](b2026.md) | S. | not testable here | no data |",
    ]
    assert lines[-3:] == ["a2026", "b2026", "```"]
