"""First commands under distorted posteriors, beside the paper's."""

from aquamend_lab.analysis.report.executions import first_command_table


def scene(command, other):
    def wording(command, distance, loss):
        return {"command": command, "total_variation": distance, "predicted_loss": loss}

    return {
        "features": {"first_commands": {"original": wording(command, 0.0, 2.0), "positive": wording(other, 0.2, 3.0)}}
    }


def test_commands_that_change_are_counted_and_distances_and_losses_averaged():
    table = first_command_table([scene("look", "look"), scene("look", "continue"), {"features": {}}])
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows[0] == ["original", "0/2", "0.0000", "2.0000", "0/32", "0.0000", "63.9249"]
    assert rows[1] == ["positive", "1/2", "0.2000", "3.0000", "8/32", "0.1446", "65.2785"]


def test_nothing_is_shown_where_scenes_have_none():
    assert first_command_table([{"features": {}}, {}]) is None
