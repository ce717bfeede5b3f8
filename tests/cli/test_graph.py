def test_dot_marks_what_is_suspected_executed_and_to_be_undone(run, lid):
    result = run("graph", lid, "--observe", "look=no")
    assert result.exit_code == 0
    text = result.stdout
    assert text.startswith("digraph recovery {")
    assert text.rstrip().endswith("}")
    assert r'label="look\nanswered no"' in text
    assert r'label="lid\nsuspected: 84%"' in text
    assert r'label="lift\nexecuted\nto be undone"' in text
    assert r'label="carry\nplanned"' in text
    assert 'n1 -> n2 [label="belief_to_action"];' in text


def test_before_a_probe_the_graph_shows_what_stopping_would_undo(run, lid):
    text = run("graph", lid).stdout
    assert r"look\nnext step" in text
    assert r"lift\nexecuted\nwould be undone if stopped now" in text


def test_mermaid_has_the_same_nodes_and_edges(run, lid):
    text = run("graph", lid, "--format", "mermaid", "--policy", "rollback-only").stdout
    assert "flowchart LR" in text
    assert 'n2["lift<br/>executed<br/>to be undone"]' in text
    assert "n1 -->|belief_to_action| n2" in text


def test_the_chain_view_undoes_all_that_came_after(run, problem, write):
    problem["actions"].append({"name": "wave", "undo": 1, "status": "executed"})
    file = write(problem)
    assert r"wave\nexecuted" + '"' in run("graph", file, "--policy", "no-reprobe").stdout
    assert r"wave\nexecuted\nto be undone" in run("graph", file, "--policy", "rollback-only", "--chain").stdout


def test_names_cannot_break_out_of_the_language(run, problem, write):
    problem["name"] = 'a "b" \\ c'
    problem["unit"] = "s"
    text = run("graph", write(problem)).stdout
    assert r'label="a \"b\" \\ c: run probe look";' in text


def test_a_language_it_does_not_speak_is_refused(run, lid):
    result = run("graph", lid, "--format", "svg")
    assert result.exit_code == 2
    assert "mermaid" in result.stderr


def test_what_is_declared_and_what_a_probe_relies_on_is_drawn(run, cups):
    text = run("graph", cups, "--observe", "weigh=45", "--policy", "no-reprobe").stdout
    assert "to be declared: 45" in text
    assert r"needs support" in text
    assert 'label="relies on", style=dotted' in text
