"""The tables that the README embeds."""

from tests.lab.analysis.report.conftest import losses

from aquamend_lab.analysis.report.readme_tables import BEGIN, END, markdown_tables, with_tables


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


def test_kinds_of_scenarios_are_told_together(stress):
    lines = markdown_tables([stress]).splitlines()
    assert lines[0] == "**t4-stress-v3**, 16 scenarios; beside it the paper’s T4-Stress table:"
    (ours,) = [line for line in lines if line.startswith("| Restart |")]
    assert ours.startswith("| Restart | 1.000 | 0.333 | 16.500 | ")


def test_a_run_made_with_the_former_meaning_says_so(stress):
    assert "former meaning" not in markdown_tables([stress])
    told = "**t4-stress-v3**, 16 scenarios, made with the former meaning of values; beside it"
    assert markdown_tables([stress], former=["t4-stress-v3"]).startswith(told)


def test_a_former_run_says_what_its_troubleshooter_assumed_and_others_do_not(m1, make):
    run = make([*losses("aquamend", [4.0])], [*losses("troubleshooting", [5.0])])
    assert "single failed belief" not in markdown_tables([run])
    assert "single failed belief" not in markdown_tables([m1], former=[m1.suite])
    lines = markdown_tables([run], former=[run.suite]).splitlines()
    assert lines[-3].startswith("| Troubleshooting (DTT) |")
    assert "single failed belief" in lines[-1]
