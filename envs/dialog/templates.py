"""Acts as short English sentences."""

import re
from collections.abc import Sequence

from envs.dialog.acts import ANY, UNKNOWN, Act, Booking, text_of
from envs.dialog.ontology import AFTER, BEFORE, DOMAINS, GENERAL

NAMES: dict[str | None, str] = {
    AFTER: "time of departure", BEFORE: "time of arrival", "car type": "car", "internet": "internet access",
    "people": "number of people", "pricerange": "price range", "ref": "reference", "stars": "number of stars",
    "stay": "number of nights", "trainID": "train number",
}  # fmt: skip
"""Names of slots that are not their own."""
STATED = {
    AFTER: "I leave at {} or later.", BEFORE: "I must be there by {}.", "departure": "I start from {}.",
    "destination": "I go to {}.", "people": "It is for {} people.", "stay": "For {} nights.", "name": "I mean {}.",
}  # fmt: skip


def user_says(acts: Sequence[Act]) -> str:
    """Returns what a user says."""
    return " ".join(map(_of_user, acts))


def system_says(acts: Sequence[Act]) -> str:
    """Returns what the system says; three dots if that is nothing."""
    return " ".join(map(_of_system, acts)) or "..."


def _of_user(act: Act) -> str:
    if act.intent == "bye":
        return "Thank you, goodbye."
    if act.slot is None:
        return f"It is about {with_article(act.domain)}."
    name = NAMES.get(act.slot, act.slot)
    if act.intent == "request":
        return f"What is the {name}?"
    if act.value is ANY:
        return f"Any {name} will do."
    return STATED.get(act.slot, f"The {name} is {{}}.").format(text_of(act.value))


def _of_system(act: Act) -> str:
    intent, domain, slot, value = act
    name = NAMES.get(slot, slot)
    if isinstance(value, Booking):
        details = ", ".join(f"{NAMES.get(key, key)} {text_of(part)}" for key, part in value.values.items())
        return f"Your {domain} is booked ({details}); the reference is {value.reference}."
    plain = {
        "bye": "Goodbye.", "reqmore": "Anything else?", "greet": "Hello.", "welcome": "You are welcome.",
        "nooffer": f"There is no such {domain}.", "nobook": f"The {domain} cannot be booked.",
    }  # fmt: skip
    if intent in plain:
        return plain[intent]
    if intent == "request":
        return f"Which {name} for the {domain}?"
    if slot is None:
        return f"Here is {with_article(domain)}."
    if slot == "choice":
        return f"Matches for the {domain}: {text_of(value)}."
    if value is UNKNOWN:
        return f"I do not know the {name} of the {domain}."
    return f"{'I recommend' if intent == 'recommend' else f'The {name} of the {domain} is'} {text_of(value)}."


def with_article(word: str) -> str:
    """Returns a word after its article."""
    if word == "police":
        return "the police"
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def understood(sentence: str, domain: str | None) -> Act | None:
    """Returns the act of a sentence that `user_says` could have said of this domain; None for any other text."""
    text = " ".join(sentence.split())
    if re.fullmatch(r"(thank you, )?(good)?bye[.!]?", text, re.IGNORECASE):
        return Act("bye", GENERAL)
    if about := re.fullmatch(r"It is about (?:an? |the )?(\w+)\.?", text, re.IGNORECASE):
        name = about[1].lower()
        return Act("inform", name) if name in DOMAINS else None
    for slot in DOMAINS[domain].slots if domain else ():
        name = re.escape(NAMES.get(slot, slot))
        if re.fullmatch(rf"What is the {name}\?", text, re.IGNORECASE):
            return Act("request", str(domain), slot)
        if re.fullmatch(rf"Any {name} will do\.?", text, re.IGNORECASE):
            return Act("inform", str(domain), slot, ANY)
        for stated in (STATED.get(slot), f"The {NAMES.get(slot, slot)} is {{}}."):
            if stated is None:
                continue
            pattern = re.escape(stated.rstrip(".")).replace(r"\{\}", "(.+?)")
            if match := re.fullmatch(rf"{pattern}\.?", text, re.IGNORECASE):
                return Act("inform", str(domain), slot, match[1])
    return None
