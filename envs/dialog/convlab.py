"""The vocabularies and the observation of ConvLab-2 (Zhu et al., 2020): 209 and 78 acts, 340 numbers."""

from collections.abc import Iterator

from envs.dialog.acts import Entry, UserEntry
from envs.dialog.codec import LEVELS, Codec, Name
from envs.dialog.ontology import AFTER, BEFORE, DOMAINS, GENERAL, IDS
from envs.dialog.speech import ACTIVE

SYSTEM = {
    "attraction": "inform addr3 area3 choice3 fee2 name4 phone post type5; nooffer area type none; "
    "recommend addr2 area fee name phone post type; request area name price type; select type2 none",
    "hotel": "inform addr2 area2 choice3 internet name3 parking phone post price2 stars2 type2; "
    "nooffer area price stars type none; recommend addr area internet name parking price stars type; "
    "request area internet name parking price stars type; select area name price2 type2 none",
    "restaurant": "inform addr2 area2 choice3 food4 name4 phone post2 price2 ref; nooffer area food price none; "
    "recommend addr area food name phone post price; request area food name price; select area2 food3 name price2 none",
    "train": "inform arrive2 choice2 day depart dest id leave3 ref ticket time; offerbook arrive id leave none; "
    "offerbooked arrive day depart dest id leave people ref ticket; request arrive day depart dest leave people; "
    "select leave none",
    "taxi": "inform arrive car depart dest leave phone; request arrive depart dest leave",
    ACTIVE: "book day name people ref stay time none; inform day name people none; nobook day name time none; "
    "request day people stay time",
    "hospital": "inform addr department phone post; request department",
    "police": "inform addr name phone post",
    GENERAL: "bye greet reqmore welcome",
}
"""Domain -> intents with their slots; a number behind a slot is the number of ranks."""
USER = {
    "attraction": "inform area name type none; request addr area fee phone post type",
    "hotel": "inform area day internet name parking people price stars stay type none; "
    "request addr area internet parking phone post price ref stars type",
    "police": "inform name none; request addr phone post",
    "restaurant": "inform area day food name people price time none; request addr area food phone post price ref",
    "train": "inform arrive day depart dest leave people none; request arrive id leave ref ticket time",
    "hospital": "inform department none; request addr phone post",
    "taxi": "inform arrive depart dest leave none; request car",
    GENERAL: "bye greet thank",
}
SLOTS = {
    "addr": "address", "post": "postcode", "price": "pricerange", "fee": "entrance fee", "car": "car type",
    "leave": AFTER, "arrive": BEFORE, "depart": "departure", "dest": "destination", "id": "trainID",
}  # fmt: skip
OF_TRAIN = {"ticket": "price", "time": "duration"}
INTENTS = {"select": "recommend", "offerbook": "inform", "offerbooked": "book"}
"""Intents that are said like one of ours."""
COUNTED = ("attraction", "restaurant", "train", "hotel")


def convlab() -> Codec:
    """Returns the codec of `features: convlab`."""
    system = [_entry(*name) for name in names(SYSTEM)]
    user: list[UserEntry] = [_entry(*name)[:3] for name in names(USER)]
    return Codec(IDS["full"], user, system, _state())


def names(vocabulary: dict[str, str]) -> list[tuple[str, str, str, str]]:
    """Returns (domain, intent, slot, rank) of all acts, sorted by the text Domain-Intent-Slot-rank."""
    return sorted(_names(vocabulary), key="-".join)


def _names(vocabulary: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for domain, text in vocabulary.items():
        if domain == GENERAL:
            yield from ((GENERAL, intent, "none", "none") for intent in text.split())
            continue
        for group in text.split("; "):
            intent, *slots = group.split()
            for slot in slots:
                plain, ranks = slot.rstrip("0123456789"), slot[-1] if slot[-1].isdigit() else "1"
                filler = "?" if intent == "request" else "none" if plain == "none" else ""
                yield from ((domain, intent, plain, filler or str(rank)) for rank in range(1, int(ranks) + 1))


def _entry(domain: str, intent: str, slot: str, rank: str) -> Entry:
    """Returns our act of a name of ConvLab-2."""
    ours = SLOTS.get(slot, slot)
    if domain == "train":
        ours = OF_TRAIN.get(slot, ours)
    # of all acts of the domain booking with the intent book, ref is the booking; the others repeat its values
    intent = "inform" if (domain, intent) == (ACTIVE, "book") and slot != "ref" else INTENTS.get(intent, intent)
    return Entry(intent, domain, None if slot == "none" else ours, int(rank) if rank.isdecimal() else 1)


def _state() -> Iterator[Name]:
    for name in IDS["full"]:
        yield from (("belief", name, slot) for slot in DOMAINS[name].informable)
    yield from (("booked", name) for name in COUNTED)
    yield from (("matches", name, level) for name in COUNTED for level in range(len(LEVELS) + 1))
    yield ("ended",)
