"""Tables: ours beside the paper's, the best emphasised, nothing empty."""

from tests.lab.analysis.report.conftest import losses

from aquamend_lab.analysis.metrics import summarise, summarise_together
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.tables import compact_table, parts_table, pivot_tables, result_table
from aquamend_lab.analysis.table import table_of


def columns(table):
    return [column.title for column in table.columns]


def column(table, title):
    place = columns(table).index(title)
    return {row[table.header].text: row[place] for row in table.rows}


def test_oracles_come_first_and_the_rest_by_expected_risk(m1):
    table = result_table(summarise(table_of(m1)), paper_table("m1-v2"))
    names = [row[0].text for row in table.rows]
    assert names == ["Oracle", "Exact adaptive", "AquaMend", "AquaMend, all candidates", "Restart"]


def test_the_papers_numbers_stand_beside_ours(m1):
    table = result_table(summarise(table_of(m1)), paper_table("m1-v2"))
    assert column(table, "realised loss")["AquaMend"].text == "4.000"
    assert column(table, "paper’s realised cost")["AquaMend"].text == "8.594"
    assert column(table, "paper’s expected risk")["AquaMend, all candidates"].text == "–"


def test_the_best_is_emphasised_but_never_the_oracle(m1):
    risks = column(result_table(summarise(table_of(m1)), None), "expected risk")
    assert [name for name, cell in risks.items() if cell.strong] == ["Exact adaptive"]


def test_a_lucky_draw_neither_leads_the_table_nor_is_emphasised(make):
    lucky = [line | {"expected_risk": 9.0} for line in losses("aquamend", [1.0, 1.0])]
    table = result_table(summarise(table_of(make(lucky, losses("exact", [2.0, 2.0])))), None)
    assert [row[0].text for row in table.rows] == ["Exact adaptive", "AquaMend"]
    assert not any(cell.strong for cell in column(table, "realised loss").values())


def test_where_nothing_is_expected_the_realised_loss_is_judged(make):
    realised = [[line | {"expected_risk": None} for line in losses(name, [i])] for i, name in enumerate("ab")]
    shown = column(result_table(summarise(table_of(make(*realised))), None), "realised loss")
    assert [cell.strong for cell in shown.values()] == [True, False]


def test_means_over_fewer_scenarios_are_marked_come_last_and_are_never_best(make):
    refused = [*losses("exact", [None]), *losses("exact", [1.0], seed=1)]
    refused[0] |= {"error": "too large", "success": 0.0}
    whole = [*losses("aquamend", [9.0]), *losses("aquamend", [2.0], seed=1)]
    worse = [*losses("restart", [9.0]), *losses("restart", [5.0], seed=1)]
    table = result_table(summarise(table_of(make(refused, worse, whole))), None)
    risks = column(table, "expected risk")
    assert {name: cell.strong for name, cell in risks.items()} == {
        "AquaMend": True, "Restart": False, "Exact adaptive (1 of 2)": False,
    }  # fmt: skip
    assert list(risks)[-1] == "Exact adaptive (1 of 2)"
    assert "Bold: best, as shown, of those that have every scenario, unless all are equal." in table.caption
    assert "In brackets" in table.caption


def test_the_caption_speaks_of_the_paper_only_where_its_columns_are(m1, make):
    assert "paper’s" in result_table(summarise(table_of(m1)), paper_table("m1-v2")).caption
    assert "paper’s" not in result_table(summarise(table_of(make(losses("mine", [1.0])))), paper_table("m1-v2")).caption


def test_what_a_loss_is_made_of_is_left_out_where_nobody_says(m1, make):
    wording = [line | {"sensing": 0.25, "rollback": 0.75, "continuation": 0.0} for line in losses("a", [1.0])]
    assert parts_table(summarise(table_of(m1)), None) is None
    assert column(parts_table(summarise(table_of(make(wording))), None), "sensing")["a"].text == "0.250"


def test_an_estimate_has_an_interval_in_its_own_unit(proxies):
    table = result_table(summarise(table_of(proxies)), None)
    place = columns(table).index("95 % interval")
    assert table.rows[0][place].text == "[0.000 %, 33.333 %]"


def test_all_that_tie_for_the_best_are_emphasised(make):
    run = make(losses("aquamend", [1, 2]), losses("all-candidates", [2, 1]), losses("restart", [5, 5]))
    shown = column(result_table(summarise(table_of(run)), None), "expected risk")
    assert [cell.strong for cell in shown.values()] == [True, True, False]


def test_nothing_is_emphasised_where_all_are_equal(m1):
    shown = column(result_table(summarise(table_of(m1)), None), "success")
    assert not any(cell.strong for cell in shown.values())


def test_the_gap_to_the_oracle_is_the_difference_of_the_means(m1):
    gaps = column(result_table(summarise(table_of(m1)), None), "gap to oracle")
    assert [gaps[name].text for name in ("Oracle", "Exact adaptive", "AquaMend")] == ["0.000", "1.000", "1.500"]


def test_a_column_without_numbers_is_left_out(m1, depth):
    assert "time (ms)" not in columns(result_table(summarise(table_of(m1)), None))
    table = result_table(summarise(table_of(depth)), paper_table("m1-depth-v1"))
    assert {"time (ms)", "paper’s time (ms)", "paper’s memory (KiB)"} <= set(columns(table))


def test_groups_stand_first_and_are_set_apart(depth):
    table = result_table(summarise(table_of(depth)), paper_table("m1-depth-v1"))
    assert (columns(table)[:2], table.header, table.breaks) == (["n", "policy"], 1, {2})
    assert [row[0].text for row in table.rows] == ["3", "3", "4", "4"]


def test_the_papers_numbers_never_stand_alone(make):
    unknown = [line | {"expected_risk": None} for line in losses("aquamend", [1.0])]
    table = result_table(summarise(table_of(make(unknown))), paper_table("m1-v2"))
    assert "paper’s expected risk" not in columns(table)


def test_errors_have_a_column_as_soon_as_there_is_one(make):
    refused = losses("exact", [None]) + losses("exact", [3.0], seed=1)
    refused[0] |= {"error": "too large", "success": 0.0}
    table = result_table(summarise(table_of(make(refused))), None)
    assert column(table, "errors")["Exact adaptive (1 of 2)"].text == "1"
    assert column(table, "success")["Exact adaptive (1 of 2)"].text == "0.500"


def test_estimators_have_their_error_beside_the_papers(proxies):
    table = compact_table(summarise(table_of(proxies)), paper_table("m1-proxy-v2"))
    rows = [[cell.text for cell in row] for row in table.rows]
    assert columns(table)[:3] == ["mode", "support", "failed"]
    assert rows[0] == ["independent", "small", "1.67", "Independence", "20.000 %", "27.613 %"]


def test_the_realised_loss_is_left_out_where_it_says_the_same_as_the_risk(depth):
    table = compact_table(summarise(table_of(depth)), None)
    assert columns(table) == ["n", "policy", "success", "expected risk"]


def test_a_pivot_has_a_row_a_group_and_a_gap_where_a_policy_was_not_run(make):
    whole = [line | {"group": {"n": line["scenario"]}} for line in losses("exact", [1, 2])]
    part = [line | {"group": {"n": line["scenario"]}} for line in losses("aquamend", [3])]
    table = pivot_tables(summarise(table_of(make(whole, part))), ["expected_risk"])[0]
    assert [[cell.text for cell in row] for row in table.rows] == [["n = 0", "1.000", "3.000"], ["n = 1", "2.000", "–"]]
    assert [[cell.strong for cell in row] for row in table.rows] == [[False, True, False], [False, False, False]]


def test_episodes_have_columns_for_what_is_not_zero_everywhere(stress, make):
    table = result_table(summarise_together(table_of(stress)), paper_table("t4-stress-v3"))
    assert column(table, "handed over")["AquaMend"].text == "1.000"
    assert column(table, "paper’s probes")["Restart"].text == "5.740"
    assert column(table, "attribution recall")["AquaMend"].text == "0.667"
    assert column(table, "attribution recall")["Oracle"].text == "–"
    assert "over budget" not in columns(table)
    over = [line | {"over_budget": line["policy"] == "restart"} for line in stress.records]
    assert column(result_table(summarise(table_of(make(over))), None), "over budget")["Restart"].text == "1.000"


def test_attribution_is_shown_only_where_nothing_exact_is_known_and_causes_can_be_told_apart(stress, make):
    alike = [line | {"cause": "external"} for line in stress.records]
    assert "attribution recall" not in columns(result_table(summarise(table_of(make(alike))), None))
    wording = [line | {"expected_risk": line["loss"]} for line in stress.records]
    assert "attribution recall" not in columns(result_table(summarise(table_of(make(wording))), None))


def test_a_compact_table_of_episodes_has_the_loss_with_its_interval_and_counts(stress):
    table = compact_table(summarise_together(table_of(stress)), paper_table("t4-stress-v3"), intervals=True)
    assert columns(table) == [
        "policy", "success", "paper’s success", "realised loss", "95 % interval", "paper’s realised cost",
        "handed over", "probes", "undone",
    ]  # fmt: skip


def test_kinds_of_scenarios_are_columns_where_there_are_more_policies(stress):
    success, loss = pivot_tables(summarise(table_of(stress)))
    assert columns(loss) == ["policy", "common cause", "combined"]
    assert [cell.text for cell in loss.rows[1]] == ["AquaMend", "9.000", "10.000"]
    assert [row[0].text for row in loss.rows if row[1].strong] == ["AquaMend"]
    assert success.caption == "Success, a row for each policy, a column for each factor."
