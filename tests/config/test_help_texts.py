"""Help texts come from the docstrings under the fields, of a class or of its parents."""

from pydantic import Field

from config.model.fields import Strict
from config.tell.help_texts import WithHelp, help_text


class Family(Strict):
    rate: float = 0.1
    """Learning
    rate."""
    other: int = 1
    named: int = Field(1, description="Given to pydantic.")
    """Not read."""


class Member(Family):
    rate: float = 0.2
    other: int = 2
    """Another one."""

    class Part(Strict):
        size: int = 1
        """Number of outputs."""


def test_a_field_has_its_own_text_or_that_of_the_parent_whose_field_it_overrides() -> None:
    assert help_text(Family, "rate") == help_text(Member, "rate") == "Learning rate."
    assert (help_text(Family, "other"), help_text(Member, "other")) == ("", "Another one.")
    assert help_text(Member, "named") == "Given to pydantic."


def test_classes_within_classes_and_functions_have_their_own_texts() -> None:
    class Part(Strict):
        size: int = 1
        """Number of inputs."""

    assert (help_text(Member.Part, "size"), help_text(Part, "size")) == ("Number of outputs.", "Number of inputs.")


def test_a_class_without_source_has_no_help() -> None:
    made = type("Made", (Strict,), {"__annotations__": {"size": int}, "size": 1, "__module__": "nowhere"})
    assert help_text(made, "size") == ""


def test_the_schema_has_the_texts() -> None:
    properties = Member.model_json_schema(schema_generator=WithHelp)["properties"]
    assert properties["rate"] == {"default": 0.2, "description": "Learning rate.", "title": "Rate", "type": "number"}
    assert "description" not in Family.model_json_schema(schema_generator=WithHelp)["properties"]["other"]
