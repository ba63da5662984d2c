"""Parts of a dialogue for tests: some that work, and one for each way in which one can be wrong."""

import os

from envs.dialog.acts import Act
from envs.dialog.evaluator import Evaluator
from envs.dialog.tracker import Tracker
from envs.dialog.user import User


class Impatient(User):
    """Leaves after `turns` exchanges."""

    def __init__(self, goal, rng, turns=3, **settings):
        super().__init__(goal, rng, **settings)
        self.turns = turns

    def respond(self, acts):
        said = super().respond(acts)
        if self.turn < 2 * self.turns + 2 or self.ended:
            return said
        self.ended, self.reason = True, "impatience"
        return [Act("bye", "general")]


class Plain:
    """A user of its own: asks for a phone number until it hears one."""

    def __init__(self, goal, rng):
        self.goal, self.ended, self.reason = goal, False, None

    def open(self):
        return [Act("inform", "restaurant"), Act("request", "restaurant", "phone")]

    def respond(self, acts):
        if any(act.slot == "phone" for act in acts):
            self.ended, self.reason = True, "complete"
            return [Act("bye", "general")]
        return [Act("request", "restaurant", "phone")]


class Endless(Plain):
    def respond(self, acts):
        return [Act("request", "restaurant", "phone")]


class Notes(Tracker):
    """Counts what it hears."""

    def __init__(self, tables, domains, places):
        super().__init__(tables, domains, places)
        self.count = 0

    def hear(self, acts):
        self.count += len(acts)
        super().hear(acts)


class Silent:
    """Gives every exchange the reward 2, and says how many there were."""

    METRICS = ("length",)

    def __init__(self, goal, tables):
        pass

    def note(self, acts):
        pass

    def report(self, reason, exchanges):
        return {"length": float(exchanges), "other": 3.0}

    def reward(self, reason):
        return 2.0


class Lenient(Evaluator):
    def strict(self, reason):
        return True


class Deaf:
    def predict(self, said):
        return []


class Erring:
    def __init__(self, rate=0.1):
        self.rate = rate

    def reset(self, rng):
        self.rng = rng

    def predict(self, said):
        return [act for act in said if self.rng.random() >= self.rate]


class Words:
    """Says acts as lines of text."""

    def generate(self, acts):
        return "\n".join(f"{act.intent}|{act.domain}|{act.slot or ''}|{id_of(act.value)}" for act in acts)


VALUES = []


def id_of(value):
    VALUES.append(value)
    return len(VALUES) - 1


class Reader:
    """Understands what Words says."""

    def predict(self, said):
        lines = [line.split("|") for line in said.splitlines()]
        return [Act(intent, domain, slot or None, VALUES[int(place)]) for intent, domain, slot, place in lines]


# ------------------------------------------------------------------------------------------------ wrong ones


class NoRespond:
    ended = False

    def __init__(self, goal, rng):
        pass

    def open(self):
        return []


class NoEnded(NoRespond):
    def respond(self, acts):
        return []


del NoEnded.__mro__[1].ended


class NoArguments(Plain):
    def __init__(self):
        pass


class Text(Plain):
    def open(self):
        return "hello"


class OneAct(Plain):
    def open(self):
        return Act("inform", "restaurant")


class Strings(Plain):
    def open(self):
        return ["inform restaurant"]


class Nowhere(Plain):
    def respond(self, acts):
        return [Act("inform", "cinema")]


class Number(Plain):
    def respond(self, acts):
        return [Act("inform", "restaurant", "food", 3)]


class Hurried(Plain):
    def __init__(self, goal, rng):
        super().__init__(goal, rng)
        self.ended = True


class Failing(Plain):
    def respond(self, acts):
        return acts[1000]


class Unmade(Plain):
    def __init__(self, goal, rng):
        raise OSError("no model")


class NoHear:
    def __init__(self, tables, domains, places):
        pass

    def note(self, acts):
        pass

    def matches(self, domain):
        return 0


class NoBelief(NoHear):
    def hear(self, acts):
        pass


class NoReport:
    def __init__(self, goal, tables):
        pass

    def note(self, acts):
        pass


class NoStrict(NoReport):
    def report(self, reason, exchanges):
        return {}


class BadNames(Silent):
    METRICS = "length"


class BadReward(Silent):
    def reward(self, reason):
        return "much"


class BadReport(Silent):
    def report(self, reason, exchanges):
        return 3


class NoPredict:
    pass


class Sentences:
    def predict(self, said):
        return "I want food"


class NeedsModel:
    def __init__(self, path):
        pass

    def predict(self, said):
        return said


nothing = None
text = "text"


def made_wrong(goal, rng):
    return 3


class Dies:
    """Ends every process but the test's."""

    def predict(self, said):
        if os.environ.get("PROCESS_OF_THE_TEST") != str(os.getpid()):
            os._exit(7)
        return said
