"""The tables that the README embeds."""

from aquamend_lab.analysis.report.rendering import BEGIN, END, markdown_tables, with_tables


def test_ours_stand_beside_the_papers(m1):
    lines = markdown_tables([m1]).splitlines()
    assert lines[0] == "**m1-v2**, 4 scenarios; beside it the paper’s M1 table:"
    assert "| AquaMend | 1.000 | 4.000 | 9.290 | 4.000 | 8.594 |" in lines


def test_every_run_has_a_table(m1, depth, proxies):
    text = markdown_tables([m1, depth, proxies])
    assert [text.count(name) for name in ("**m1-v2**", "**m1-depth-v1**", "**m1-proxy-v2**")] == [1, 1, 1]


def test_tables_go_between_the_markers_and_nowhere_else(m1):
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    new = with_tables(readme, [m1])
    assert new == f"before\n{BEGIN}\n{markdown_tables([m1])}{END}\nafter\n"
    assert with_tables(new, [m1]) == new
    assert with_tables("no markers", [m1]) == "no markers"


def test_kinds_of_scenarios_are_reported_together(stress):
    lines = markdown_tables([stress]).splitlines()
    assert lines[0] == "**t4-stress-v3**, 16 scenarios; beside it the paper’s T4-Stress table:"
    (ours,) = [line for line in lines if line.startswith("| Restart |")]
    assert ours.startswith("| Restart | 1.000 | 0.333 | 16.500 | ")
