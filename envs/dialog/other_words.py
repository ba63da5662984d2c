"""Names of ConvLab-2's Python interface -> what to write here, for the ends of sentences."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from config.tell.language import tr
from envs.common.registry import nearest

_RESULT = tr("the info of the last step of a dialogue has success, strict, book, precision, recall and f1")
_PLAYED = tr("sample(env, policy, batchsz) plays dialogues; or env.reset() and env.step(action) do")
_STATE = tr("each dialogue has its own, env.tracker after env.reset(); the policy sees it as the observation")
_FIRST = tr("call env.reset() first: each dialogue has its own")
OF_THE_ENVIRONMENT = {
    "usr": tr("the user is env.user, after env.reset()"),
    "sys_dst": tr("the tracker is env.tracker, after env.reset()"),
    "sys_nlu": tr("what understands and speaks is env.language"),
    "sys_nlg": tr("what understands and speaks is env.language"),
    **dict.fromkeys(("user", "tracker", "evaluator", "goal", "tables", "transcript"), _FIRST),
}
OF_THE_EVALUATOR = dict.fromkeys(
    ("task_success", "domain_success", "inform_F1", "book_rate", "final_goal_analyze", "goal", "cur_domain", "add_goal",
     "add_sys_da", "add_usr_da", "get_reward", "success", "complete"), _RESULT,
)  # fmt: skip
OF_THE_TRACKER = dict.fromkeys(("state", "update", "init_session", "update_booking", "default_state"), _STATE)
OF_AN_AGENT = dict.fromkeys(
    ("response", "init_session", "get_goal", "is_terminated", "get_reward", "next_turn", "init_response"), _PLAYED
)
OF_A_RULE = {
    **OF_AN_AGENT,
    "init_session": tr("leave it out: a policy keeps nothing of a dialogue"),
    **dict.fromkeys(("save", "load", "weights", "policy"), tr("leave it out: the hand-written policy has no weights")),
}
"""Attributes of RulePolicy."""
_NLU = tr("write a class with predict(sentence), which returns acts, or None, which passes acts on (docs/dialog.md)")
_NLG = tr("write a class with generate(acts), which returns a sentence, or None, which passes acts on (docs/dialog.md)")
_DST = tr("RuleDST() is built in; or write a tracker of your own (docs/dialog.md)")
OF_THE_MODULE = {
    **dict.fromkeys(("BERTNLU", "SVMNLU", "MILU", "JOINTBERT", "NLU"), _NLU),
    **dict.fromkeys(("TemplateNLG", "SCLSTM", "SCGPT", "NLG"), _NLG),
    **dict.fromkeys(("TRADE", "SUMBT", "MDBT", "SUMBTTracker", "TRADEDST", "DST"), _DST),
    **dict.fromkeys(("UserPolicyAgendaMultiWoz", "UserPolicyVHUS", "VHUS"), tr("write RulePolicy(character='usr')")),
    **dict.fromkeys(("BiSession", "Session", "DealornotSession"), _PLAYED),
    "Analyzer": tr("the command test NAME counts what Analyzer does, for a run that has trained"),
    "MultiWozVector": tr("write Environment(..., features='convlab')"),
}
"""Names of the module joystick.dialog, which is all that ConvLab-2's modules are."""


class Answering:
    """A class whose lacking attributes are answered with what to write in their place."""

    WORDS: ClassVar[Mapping[str, str]] = {}

    def __getattr__(self, name: str) -> str:
        raise absent(type(self).__name__, name, self.WORDS, dir(type(self)))


def absent(what: str, name: str, words: Mapping[str, str], names: Iterable[str] = ()) -> AttributeError:
    """Returns the error of an attribute that a thing lacks. words: foreign name -> what to write; names: its own."""
    if name.startswith("_"):
        return AttributeError(name)
    own = [each for each in names if not each.startswith("_")]
    near = words.get(name) or (tr("did you mean {hint}?", hint=hint) if (hint := nearest(name, own)) else "")
    instead = tr("; {remark}", remark=near) if near else ""
    return AttributeError(tr("{module} has no {name!r}{instead}", module=what, name=name, instead=instead))
