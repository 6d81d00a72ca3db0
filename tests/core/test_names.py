"""Messages about unknown names."""

from obtree.core.names import unknown_name


def test_lists_the_known_and_suggests_the_nearest():
    text = unknown_name("criterion", "giny", ["entropy", "gini"])
    assert text == (
        "unknown criterion 'giny'; expected one of 'entropy', 'gini'. Did you mean 'gini'?"
    )


def test_no_suggestion_when_nothing_is_near():
    assert "Did you mean" not in unknown_name("criterion", "zzz", ["entropy", "gini"])


def test_names_that_are_not_text():
    assert "unknown criterion 7" in unknown_name("criterion", 7, ["gini"])
