"""What algorithms ask of an environment: the table in the docs, and one comparison for all places."""

import pytest
from gymnasium.spaces import Box, Discrete

import algos
from framework.assemble.needs import ALGORITHM, FACTS, Offers, misfits, needs_of
from tests.tools import needs_page


@pytest.mark.parametrize("letters", needs_page.PAGES)
def test_the_table_of_algorithms_is_that_of_the_code(letters: str) -> None:
    text = needs_page.PAGES[letters].read_text(encoding="utf-8")
    assert needs_page.written(text, letters) == text, "write it anew: python -m tests.tools.needs_page"


def test_a_single_agent_hears_of_the_spaces_or_else_of_the_first_fact() -> None:
    algo = algos.get("SAC").Config()
    needs = needs_of(algo, "SAC", algo)
    numbers, spaces = Box(-1, 1, (2,)), []
    for actions, facts in ((Discrete(2), {}), (numbers, {}), (numbers, {"bounds": lambda: True})):
        spaces.append([setting for setting, _ in misfits(needs, Offers("this", actions, numbers, facts))])
    assert spaces == [[ALGORITHM], [ALGORITHM], []]


def test_whatever_can_be_asked_for_is_said_in_some_place() -> None:
    assert all(fact.agent or fact.agents or fact.buffer for fact in FACTS.values())
