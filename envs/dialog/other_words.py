"""Names of ConvLab-2's Python interface -> what to write here, for the ends of sentences."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from config.program import PROGRAM
from config.tell.language import tr
from config.tell.names import did_you_mean

_RESULT = tr("the info of the last step of a dialogue has success, strict, book, precision, recall and f1")
_PLAYED = tr("sample(env, policy, batchsz) plays dialogues; or env.reset() and env.step(action) do")
_STATE = tr("each dialogue has its own, env.tracker after env.reset(); the policy sees it as the observation")
_FIRST = tr("call env.reset() first: each dialogue has its own")
OF_A_POLICY = {
    "save": tr("write numpy.savez('policy.npz', **policy.weights())"),
    "load": tr("write policy.set_weights(dict(numpy.load('policy.npz')))"),
    "from_pretrained": tr("train one: weights of ConvLab-2 fit no network here"),
    "init_session": tr("leave it out: a policy keeps nothing of a dialogue"),
    "est_adv": tr("policy.update(epoch, n, s, a, r, mask) estimates the advantages"),
    "vector": tr("env.observation_space and env.action_space say how states and acts are written as numbers"),
    **dict.fromkeys(("policy", "value", "state_dict", "parameters"), tr("policy.weights() has all arrays, by name")),
}
"""Attributes of PPO and PG."""
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
    "init_session": OF_A_POLICY["init_session"],
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
    "Analyzer": tr("write {program} test NAME, for a run that has trained", program=PROGRAM),
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
    instead = tr("; {remark}", remark=words[name]) if name in words else did_you_mean(name, own)
    return AttributeError(tr("{module} has no {name!r}{instead}", module=what, name=name, instead=instead))
