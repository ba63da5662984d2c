"""The databases of dialogues: queries, spellings, and files that cannot be used."""

import json
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.dialog import Config, check
from envs.dialog.acts import ANY, Act
from envs.dialog.database import BUNDLED, DatabaseError, Table, indices, load, ranked
from envs.dialog.env import single
from envs.dialog.generator import SEED, files, main, town
from envs.dialog.ontology import BOOKING_VALUES, DOMAINS, IDS, minutes
from envs.dialog.tracker import Tracker, spelled
from tests.tools.dialog import of_town, write_town


def trains(*times: tuple[str | None, str | None]) -> Table:
    return Table(DOMAINS["train"], [{"leaveAt": leave, "arriveBy": arrive} for leave, arrive in times])


def test_a_query_keeps_the_order_of_the_file_and_ignores_none_and_any(tmp_path: Path) -> None:
    table = load(Path(write_town(tmp_path)), IDS["full"]).tables["restaurant"]
    names = [entity["name"] for entity in table.query({"food": "thai"})]
    assert names == ["blue spoon", "old oven"]
    assert len(table.query({"food": None, "area": ANY})) == 3
    assert [entity["name"] for entity in table.query({"food": "THAI", "area": "South"})] == ["old oven"]
    assert table.query({"food": "french"}) == []


def test_an_unknown_value_matches(tmp_path: Path) -> None:
    folder = write_town(tmp_path, hotel=[{"area": "?"}, {"area": " "}, {"name": "x", "area": "north"}, {"area": None}])
    table = load(Path(folder), IDS["full"]).tables["hotel"]
    assert list(indices(table.match({"area": "south"}))) == [0, 1, 3]
    assert list(indices(table.match({"area": "north"}))) == [0, 1, 2, 3]
    assert table.columns["area"] == ("north",)


def test_times_are_compared_in_minutes_also_after_midnight() -> None:
    table = trains(("09:59", "10:30"), ("10:00", "24:35"), (None, None), ("23:50", "24:35"), ("10:00", "11:00"))
    assert list(indices(table.match({"leaveAt": "10:00"}))) == [1, 2, 3, 4]
    assert list(indices(table.match({"leaveAt": "9:59"}))) == [0, 1, 2, 3, 4]
    assert list(indices(table.match({"leaveAt": "23:51"}))) == [2]
    assert list(indices(table.match({"arriveBy": "24:34"}))) == [0, 2, 4]
    assert list(indices(table.match({"arriveBy": "24:35"}))) == [0, 1, 2, 3, 4]
    assert list(indices(table.match({"arriveBy": "soon"}))) == [2]
    assert (minutes("24:35"), minutes("7:05"), minutes("7:5"), minutes("noon")) == (1475, 425, None, None)


def test_masks_agree_with_a_search_by_hand() -> None:
    table, rng = load(BUNDLED, IDS["full"]).tables["train"], np.random.default_rng(0)
    for _ in range(50):
        one = table.entities[rng.integers(len(table.entities))]
        limit = f"{rng.integers(5, 24)}:30"
        found = [
            entity
            for entity in table.entities
            if entity["day"] == one["day"] and (minutes(entity["leaveAt"] or "") or 0) >= (minutes(limit) or 0)
        ]
        assert table.query({"day": one["day"], "leaveAt": limit}) == found


def test_a_rank_counts_the_matches() -> None:
    assert [ranked(0b10110, rank) for rank in (1, 2, 3, 4)] == [1, 2, 4, None]
    assert list(indices(0b10110)) == [1, 2, 4]


def test_a_query_among_many_trains_is_quick() -> None:
    many = Table(DOMAINS["train"], list(load(BUNDLED, IDS["town"]).tables["train"].entities) * 7)
    wanted = {"departure": "aldmere", "destination": "carrow", "day": "monday", "leaveAt": "10:00"}
    assert len(many.entities) > 2828
    assert min(timeit.repeat(lambda: many.match(wanted), number=1, repeat=200)) < 0.2e-3  # of a machine that is busy


# ---------------------------------------------------------------------------------------------- spellings

NAMES = ("the golden kettle", "golden gate", "crooked mill", "crooked mile", "pizza hut", "Parkside Police Station")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Pizza Hut", "pizza hut"),
        ("  parkside police station ", "Parkside Police Station"),
        ("kettle", "the golden kettle"),
        ("pizza hut city centre", "pizza hut"),
        ("golden", "golden"),  # two contain it
        ("golden gatte", "golden gate"),
        ("the goldn ketle", "the golden kettle"),
        ("piza hut", "piza hut"),  # too short for a typing error
        ("crooked milx", "crooked milx"),  # of two
        ("the silver kettle", "the silver kettle"),
        ("no", "no"),
    ],
)
def test_a_value_is_brought_to_the_spelling_of_the_database(said: str, expected: str) -> None:
    assert spelled(said, "name", NAMES) == expected


def test_a_number_is_no_part_of_another_one() -> None:
    assert spelled("10", "people", BOOKING_VALUES["people"]) == "10"
    assert spelled("2", "people", BOOKING_VALUES["people"]) == "2"


def test_what_a_person_types_reaches_the_belief_and_the_count_of_matches(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    env.reset(seed=0)
    tracker = Tracker(env.tables, IDS["full"], env.database.places)
    tracker.hear([Act("inform", "restaurant", "name", "Old Oven"), Act("inform", "restaurant", "time", "9:15")])
    assert tracker.belief["restaurant"] == {"name": "old oven"}
    assert tracker.booking["restaurant"] == {"time": "09:15"}
    assert tracker.matches("restaurant") == 0b010
    tracker.hear([Act("inform", "taxi", "departure", "lodge"), Act("inform", "taxi", "destination", "hall")])
    assert tracker.belief["taxi"] == {"departure": "lodge", "destination": "grand hall"}
    assert tracker.active == "taxi"
    tracker.hear([Act("request", "hotel", "phone"), Act("inform", "hotel", "departure", "x")])
    assert (tracker.requests["hotel"], tracker.belief["hotel"]) == ({"phone"}, {})


def test_a_changed_value_makes_a_booking_void(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    env.reset(seed=0)
    env.tracker.booked["hotel"] = "00000000"
    env.tracker.hear([Act("inform", "hotel", "area", "north")])
    assert env.tracker.booked == {}
    env.tracker.booked["hotel"] = "00000000"
    env.tracker.hear([Act("inform", "hotel", "area", "NORTH")])
    assert env.tracker.booked == {"hotel": "00000000"}


# ---------------------------------------------------------------------------------------------- the files


def test_the_files_of_the_project_are_those_of_the_generator(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in BUNDLED.iterdir()}
    assert sum(map(len, written.values())) < 120_000
    assert files(SEED + 1) != files(SEED)


def test_the_generator_says_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().out


def test_the_town_has_the_numbers_that_it_should_have() -> None:
    made = town()
    counts = {"restaurant": 60, "hotel": 30, "attraction": 40, "train": 420, "hospital": 3, "police": 1}
    assert {name: len(made[name]) for name in counts} == counts
    routes = {(train["departure"], train["destination"], train["day"]) for train in made["train"]}
    assert len(routes) == 7 * 12
    assert len({train["trainID"] for train in made["train"]}) == 420
    for each in (*made["restaurant"], *made["hotel"], *made["attraction"], *made["hospital"], *made["police"]):
        assert len(each["phone"]) == 11
        assert each["postcode"].isalnum()


def test_a_database_is_read_as_it_is(tmp_path: Path) -> None:
    hotel = json.dumps([{"stars": 4, "price": {"single": "50"}, "area": None, "name": "x"}])
    folder = write_town(tmp_path, hotel="\ufeff" + hotel)
    database = load(Path(folder), IDS["full"])
    entity = database.tables["hotel"].entities[0]
    assert (entity["stars"], entity["area"], entity["phone"]) == ("4", None, None)
    assert "price" not in entity
    assert database.tables["hospital"].columns["address"] == (), "a missing column is unknown, and goals ask for none"
    assert database.domains == IDS["full"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"restaurant": "[{]"}, "restaurant_db.json is not JSON: "),
        ({"restaurant": []}, "restaurant_db.json has no entity"),
        ({"restaurant": {"name": "x"}}, "restaurant_db.json is not a list of objects, one for each restaurant"),
        ({"restaurant": ["x"]}, "restaurant_db.json is not a list of objects"),
        ({"restaurant": [{"Name": "x"}]}, "restaurant_db.json has no value of any slot of a restaurant: address, area"),
        ({"train": [{"day": "monday"}]}, "train_db.json has no departure in any object, which every train needs"),
        ({"hotel": [{"internet": "yes"}, {"internet": True}]}, "hotel_db.json: object 2 has internet: true; expected"),
        ({"hotel": [{"phone": ["1"]}]}, 'hotel_db.json: object 1 has phone: ["1"]; expected text or a number'),
        ({"hotel": [{"stars": float("nan")}]}, "hotel_db.json: object 1 has stars: NaN; expected text or a number"),
        ({"train": [{"leaveAt": "noon"}]}, "train_db.json: object 1 has leaveAt: noon; expected a time such as 9:30"),
        ({"taxi": {"taxi_types": ["van"]}}, "taxi_db.json has no list taxi_colors"),
        ({"taxi": []}, "taxi_db.json has no list taxi_colors"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_problem(tmp_path: Path, changed: Any, message: str) -> None:
    folder = write_town(tmp_path, **changed)
    found = check(Config(id="full", data_dir=folder))
    assert [problem.key for problem in found] == ["data_dir"]
    assert message in found[0].message


def test_a_missing_folder_and_a_missing_file_are_problems(tmp_path: Path) -> None:
    assert "there is no folder" in check(Config(data_dir=str(tmp_path / "none")))[0].message
    assert "restaurant_db.json is missing" in check(Config(data_dir=str(tmp_path)))[0].message
    (tmp_path / "restaurant_db.json").write_text(json.dumps([{"name": "x", "phone": "1"}]), encoding="utf-8")
    assert check(Config(data_dir=str(tmp_path))) == [], "mini needs nothing but restaurants"


def test_names_of_fewer_than_two_places_are_too_few_for_a_taxi(tmp_path: Path) -> None:
    nameless = {name: [{"area": "north"}] for name in ("restaurant", "hotel", "attraction")}
    with pytest.raises(DatabaseError, match="fewer than two places"):
        load(Path(write_town(tmp_path, **nameless)), IDS["town"])


def test_databases_from_which_no_goal_can_be_drawn_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "restaurant_db.json").write_text(json.dumps([{"name": "x"}]), encoding="utf-8")
    found = check(Config(data_dir=str(tmp_path), p_book=0.0))
    assert "no goal was found in 1000 tries" in found[0].message


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"p_domains": [0.5, 0.4]}, "p_domains"),
        ({"p_domains": []}, "p_domains"),
        ({"p_request": 0.0, "p_book": 0.0}, "p_request"),
        ({"features": "convlab", "id": "town"}, "features"),
        ({"render_mode": "rgb_array"}, "render_mode"),
    ],
)
def test_settings_that_contradict_each_other_are_problems(settings: Any, key: str) -> None:
    assert [problem.key for problem in Config(**settings).problems()] == [key]
    assert [problem for problem in check(Config(**settings)) if problem.key == "data_dir"] == [], "no fault of the data"


def test_a_goal_of_another_id_is_refused() -> None:
    with pytest.raises(ValueError, match="mini has no police"):
        single(Config()).reset(seed=0, options={"goal": {"police": {"requests": ["phone"]}}})
