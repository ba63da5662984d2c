"""Defaults of Expert."""

from collections.abc import Iterator

from config.model.inherit import unread
from config.model.memory_spec import RolloutSpec
from config.model.schema import OF_THE_ENVIRONMENT, AlgoConfig
from config.own import objects as own
from config.tell.language import tr


class Config(AlgoConfig):
    """Expert: acts as an expert does, and learns nothing. For its evaluation, and to collect data for imitation."""

    ACTION_SPACES = ("Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict")
    EXPERT_ACTS = True
    READ_WITH = {"gamma": unread(tr("no learning"))}

    expert: str = OF_THE_ENVIRONMENT
    """The expert: environment, for the one that comes with the environment, such as the hand-written policy of dialog;
    a function of your own, module:name, from observations [N, ...] to actions [N, ...]; or a task directory, whose best
    model is asked."""

    def asked_expert(self) -> str | None:
        return self.expert

    def own(self) -> Iterator[tuple[str, str]]:
        yield from super().own()
        if own.is_own(self.expert):
            yield "expert", self.expert

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
