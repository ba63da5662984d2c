"""Generates the databases of an invented town: python -m envs.dialog.generator FOLDER."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from envs.dialog.ontology import DAYS, IDS

SEED = 0
ADJECTIVES = (
    "amber", "blue", "bright", "calm", "copper", "crooked", "distant", "early", "gentle", "golden", "green", "hidden",
    "hollow", "idle", "ivory", "lonely", "lucky", "mellow", "merry", "misty", "narrow", "noble", "old", "painted",
    "pale", "quiet", "red", "silver", "sleepy", "sunny", "tall", "velvet", "white", "wild",
)  # fmt: skip
PLACES = {
    "restaurant": ("kitchen", "table", "oven", "spoon", "kettle", "pantry", "garden", "terrace", "cellar", "lantern"),
    "hotel": ("lodge", "house", "inn", "rest", "court", "manor", "pillow", "gate"),
    "attraction": ("tower", "gallery", "museum", "mill", "park", "theatre", "pool", "chapel", "bridge", "hall"),
}
STREETS = ("orchard", "station", "river", "market", "church", "castle", "harbour", "meadow", "school", "bakers")
WAYS = ("street", "road", "lane", "square")
AREAS = ("centre", "north", "east", "south", "west")
PRICES = ("cheap", "moderate", "expensive")
FOODS = ("indian", "italian", "chinese", "thai", "french", "spanish", "turkish", "british", "korean", "greek")
ATTRACTIONS = ("museum", "park", "theatre", "church", "cinema", "swimming pool", "gallery", "boat")
FEES = ("free", "2 pounds", "3.50 pounds", "5 pounds", "8 pounds")
STATIONS = ("aldmere", "brookham", "carrow", "dunsford")
DEPARTMENTS = ("emergency", "cardiology", "neurology")
CARS = {
    "taxi_colors": ["black", "white", "red", "yellow", "blue", "grey"],
    "taxi_types": ["saloon", "estate", "van", "hatchback", "minibus", "coupe"],
}
COUNTS = {"restaurant": 60, "hotel": 30, "attraction": 40}
TRAINS_A_DAY = 5

Row = dict[str, str]


class _Town:
    """Draws values from one stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, values: Sequence[str]) -> str:
        return values[int(self.rng.integers(len(values)))]

    def digits(self, count: int) -> str:
        return "".join(map(str, self.rng.integers(0, 10, count)))

    def letters(self, count: int) -> str:
        return "".join(chr(ord("a") + i) for i in self.rng.integers(0, 26, count))

    def place(self) -> Row:
        """Returns address, phone and postcode."""
        address = f"{self.rng.integers(1, 100)} {self.one_of(STREETS)} {self.one_of(WAYS)}"
        postcode = f"{self.letters(2)}{self.digits(2)}{self.letters(2)}"
        return {"address": address, "phone": f"0{self.digits(10)}", "postcode": postcode}

    def names(self, domain: str) -> list[str]:
        """Returns different names, an adjective and a place."""
        possible = [f"{adjective} {place}" for adjective in ADJECTIVES for place in PLACES[domain]]
        return [possible[i] for i in self.rng.permutation(len(possible))[: COUNTS[domain]]]


def town(seed: int = SEED) -> dict[str, Any]:
    """Returns the content of the file of each domain."""
    draw = _Town(seed)
    return {
        "restaurant": list(_restaurants(draw)),
        "hotel": list(_hotels(draw)),
        "attraction": list(_attractions(draw)),
        "train": list(_trains(draw)),
        "taxi": CARS,
        "hospital": [{"department": name, **draw.place()} for name in DEPARTMENTS],
        "police": [{"name": "town police station", **draw.place()}],
    }


def _restaurants(draw: _Town) -> Iterator[Row]:
    for name in draw.names("restaurant"):
        kinds = {"food": draw.one_of(FOODS), "pricerange": draw.one_of(PRICES), "area": draw.one_of(AREAS)}
        yield {"name": name, **kinds, **draw.place()}


def _hotels(draw: _Town) -> Iterator[Row]:
    for name in draw.names("hotel"):
        kinds = {"area": draw.one_of(AREAS), "pricerange": draw.one_of(PRICES), "stars": draw.one_of("2345")}
        more = {"type": draw.one_of(("hotel", "guesthouse"))}
        comfort = {slot: draw.one_of(("yes", "no")) for slot in ("internet", "parking")}
        yield {"name": name, **kinds, **more, **comfort, **draw.place()}


def _attractions(draw: _Town) -> Iterator[Row]:
    for name in draw.names("attraction"):
        kinds = {"type": draw.one_of(ATTRACTIONS), "area": draw.one_of(AREAS), "entrance fee": draw.one_of(FEES)}
        yield {"name": name, **kinds, **draw.place()}


def _trains(draw: _Town) -> Iterator[Row]:
    """Yields the trains of each day and pair of stations. The fare and the duration belong to the pair."""
    pairs = [(start, end) for start in STATIONS for end in STATIONS if start != end]
    lasts = {pair: int(draw.rng.integers(20, 100)) for pair in pairs}
    costs = {pair: f"{draw.rng.integers(5, 30)}.{draw.digits(1)}0 pounds" for pair in pairs}
    numbers = iter(draw.rng.permutation(10_000).tolist())
    for start, end in pairs:
        for day in DAYS:
            for hour in sorted(draw.rng.permutation(range(5, 22))[:TRAINS_A_DAY].tolist()):
                leave = 60 * hour + int(draw.rng.integers(60))
                arrive = leave + lasts[start, end]
                times = {"leaveAt": _clock(leave), "arriveBy": _clock(arrive)}
                more = {"duration": f"{lasts[start, end]} minutes", "price": costs[start, end]}
                route = {"trainID": f"TR{next(numbers):04d}", "departure": start, "destination": end, "day": day}
                yield {**route, **times, **more}


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def files(seed: int = SEED) -> dict[str, str]:
    """Returns the text of each file: one entity a line."""
    return {f"{name}_db.json": _text(content) for name, content in town(seed).items()}


def _text(content: Any) -> str:
    if isinstance(content, dict):
        return json.dumps(content, indent=1) + "\n"
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in content) + "\n]\n"


def main(words: Sequence[str]) -> int:
    """Writes the files into a folder."""
    if len(words) != 1 or words[0].startswith("-"):
        print(f"usage: python -m envs.dialog.generator FOLDER\nWrites the databases of {', '.join(IDS['full'])}.")
        return 2
    folder = Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
