"""Batch: nested arrays by name, and what is done with all of them at once."""

import copy
import pickle

import numpy as np
import pytest
import torch

from joystick import Batch


def two() -> tuple[Batch, Batch]:
    a = Batch(a={"x": [1.0, 2.0], "y": {"z": [3, 4]}}).a
    return a, Batch(x=[5.0, 6.0], y={"z": [7, 8]})


def numbers(batch: Batch) -> tuple[list, list]:
    return batch.x.tolist(), batch.y.z.tolist()


# ------------------------------------------------------------------------------------------------------ making


def test_keys_are_attributes_and_items_and_dicts_become_batches():
    a, _ = two()
    assert a.x is a["x"]
    assert isinstance(a.y, Batch)
    assert isinstance(a.x, np.ndarray)
    a.new = [1, 2]
    a["other"] = {"deep": [5]}
    assert a.new.tolist() == [1, 2]
    assert a.other.deep.tolist() == [5]
    del a.new, a["other"]
    assert list(a.keys()) == ["x", "y"]


def test_a_list_of_dicts_is_a_row_for_each_with_0_or_none_where_a_key_is_missing():
    made = Batch([{"a": 1.0, "b": {"c": 2}, "t": "text"}, Batch(a=3.0)])
    assert made.a.tolist() == [1.0, 3.0]
    assert made.b.c.tolist() == [2, 0]
    assert made.t.tolist() == ["text", None]
    assert Batch(info=[{"k": 1}, {"k": 2}]).info.k.tolist() == [1, 2]


def test_text_in_a_list_makes_text_and_lists_of_several_lengths_make_objects():
    assert Batch(d=("a", -2, -3)).d.tolist() == ["a", "-2", "-3"]
    assert Batch(d=("a", -2, -3)).d.dtype == object
    ragged = Batch(r=[[1, 2], [3]]).r
    assert ragged.dtype == object
    assert ragged.tolist() == [[1, 2], [3]]


def test_numbers_text_none_and_tensors_stay_what_they_are():
    made = Batch(n=4, t="text", none=None, tensor=torch.ones(2), tensors=[torch.zeros(2), torch.ones(2)])
    assert (made.n, made.t, made.none) == (4, "text", None)
    assert made.tensor.shape == (2,)
    assert made.tensors.tolist() == [[0, 0], [1, 1]]


def test_a_dict_whose_keys_are_no_text_is_one_object():
    assert Batch(info={0: "a"}).info == {0: "a"}


def test_arrays_are_shared_unless_copy_is_asked_for():
    array = np.zeros(2)
    shared, own = Batch(a=array), Batch({"a": array}, copy=True)
    array[0] = 1
    assert shared.a[0] == 1
    assert own.a[0] == 0


@pytest.mark.parametrize("source", [3, "text", [1, 2], [{"a": 1}, 2]])
def test_a_batch_of_anything_but_mappings_is_refused(source):
    with pytest.raises(TypeError, match="Batch"):
        Batch(source)


def test_a_missing_key_is_a_key_error_or_an_attribute_error_that_names_the_keys():
    a, _ = two()
    with pytest.raises(KeyError, match="nothing"):
        a["nothing"]
    with pytest.raises(AttributeError, match="no key 'nothing'; it has x, y"):
        _ = a.nothing
    with pytest.raises(AttributeError):
        del a.nothing
    assert a.get("nothing", 7) == 7
    assert a.pop("nothing", 8) == 8


def test_a_key_with_the_name_of_a_method_is_an_item_only():
    batch = Batch({"shape": [1, 2], "keys": [3]})
    assert batch["shape"].tolist() == [1, 2]
    assert batch.shape == [1]
    with pytest.raises(AttributeError, match=r"write batch\['split'\]"):
        batch.split = 1


def test_a_key_is_text():
    with pytest.raises(TypeError, match="a key of a Batch is text, got 3"):
        Batch({3: 1})


# -------------------------------------------------------------------------------------------------------- rows


def test_an_index_chooses_rows_of_all_arrays():
    a, _ = two()
    assert numbers(a[[True, False]]) == ([1.0], [3])
    assert numbers(a[np.array([1, 1, 0])]) == ([2.0, 2.0, 1.0], [4, 4, 3])
    assert numbers(a[-1:]) == ([2.0], [4])
    assert (a[0].x, a[0].y.z) == (1.0, 3)
    assert numbers(a[torch.tensor([1])]) == ([2.0], [4])
    assert len(a[[]]) == 0


def test_rows_are_set_from_a_dict_and_missing_keys_become_0_or_none():
    a, _ = two()
    a.t = ["u", "v"]
    a[0] = {"x": 9.0}
    assert numbers(a) == ([9.0, 2.0], [0, 4])
    assert a.t.tolist() == [None, "v"]
    a[[True, False]] = Batch(x=[1.0], y={"z": [2]}, t=["w"])
    assert numbers(a) == ([1.0, 2.0], [2, 4])
    assert a.t.tolist() == ["w", "v"]


def test_rows_take_no_keys_that_the_batch_does_not_have():
    a, _ = two()
    with pytest.raises(ValueError, match="more is none of its keys: x, y"):
        a[0] = {"x": 1.0, "more": 2}


def test_a_column_of_all_arrays_can_be_computed_with():
    batch = Batch(a=np.zeros((2, 3)), b={"c": np.ones((2, 3, 4))})
    batch[:, 1] += 6
    assert batch.a.tolist() == [[0, 6, 0], [0, 6, 0]]
    assert batch.b.c[:, 1].tolist() == [[7] * 4] * 2
    assert batch.shape == [2, 3]
    batch[:, 0] = 2
    assert batch.a[0].tolist() == [2, 6, 0]


def test_len_and_shape_are_the_smallest():
    assert len(Batch(a=[1, 2, 3], b=[1, 2])) == 2
    assert Batch(a=np.zeros((3, 4)), b=np.zeros((2, 4, 5)), none=None, empty=Batch()).shape == [2, 4]
    assert len(Batch()) == 0
    assert len(Batch(a=[1, 2], none=None, empty=Batch())) == 2


def test_single_numbers_have_no_len_and_no_rows():
    with pytest.raises(TypeError, match=r"no len\(\): a is a single value without rows"):
        len(Batch(a=1, b=2))
    with pytest.raises(IndexError, match="key 'a' is a single value"):
        Batch(a=1)[0]
    with pytest.raises(IndexError, match="an empty Batch has no rows"):
        Batch()[0]


def test_none_and_empty_batches_stay_when_rows_are_chosen():
    row = Batch(a=[1, 2], state=None, info=Batch())[0]
    assert row.state is None
    assert row.info.is_empty()


def test_iterating_yields_rows():
    assert [row.x for row in two()[0]] == [1.0, 2.0]


def test_split_gives_parts_in_order_and_merges_a_last_one_that_is_smaller():
    batch = Batch(x=np.arange(7))

    def parts(size: int, **how: bool) -> list:
        return [part.x.tolist() for part in batch.split(size, shuffle=False, **how)]

    assert parts(3) == [[0, 1, 2], [3, 4, 5], [6]]
    assert parts(3, merge_last=True) == [[0, 1, 2], [3, 4, 5, 6]]
    assert parts(7, merge_last=True) == parts(-1) == parts(9, merge_last=True) == [list(range(7))]
    with pytest.raises(ValueError, match=r"split\(0\)"):
        parts(0)


def test_split_shuffles_and_a_generator_makes_the_order_repeatable():
    batch = Batch(x=np.arange(50))
    one, same = ([part.x.tolist() for part in batch.split(8, rng=np.random.default_rng(3))] for _ in range(2))
    assert one == same
    rows = [row for part in one for row in part]
    assert sorted(rows) == list(range(50)) != rows


def test_empty_sets_rows_to_0_or_none():
    batch = Batch(a=[1, 2], t=["x", "y"], n=5, b={"c": [3.0, 4.0]})
    emptied = batch.empty(0)
    assert (emptied.a.tolist(), emptied.t.tolist(), emptied.b.c.tolist()) == ([0, 2], [None, "y"], [0.0, 4.0])
    assert batch.a.tolist() == [1, 2]
    assert batch.empty_() is batch
    assert (batch.a.tolist(), batch.n) == ([0, 0], 0)


def test_is_empty_looks_into_nested_batches_only_if_told_to():
    assert Batch().is_empty()
    assert not Batch(a=Batch()).is_empty()
    assert Batch(a=Batch()).is_empty(recurse=True)


# ----------------------------------------------------------------------------------------------------- joining


def test_cat_joins_rows():
    assert numbers(Batch.cat(two())) == ([1.0, 2.0, 5.0, 6.0], [3, 4, 7, 8])
    assert Batch.cat([]).is_empty()
    assert numbers(Batch.cat([Batch(), two()[0], {}])) == ([1.0, 2.0], [3, 4])


def test_cat_needs_the_same_keys_or_a_fill():
    a, b = Batch(x=[1], t=["u"]), Batch(x=[2, 3], y={"z": np.ones((2, 2))})
    with pytest.raises(ValueError, match=r"is missing in some of the Batches; .*fill=0"):
        Batch.cat([a, b])
    joined = Batch.cat([a, b], fill=0)
    assert joined.x.tolist() == [1, 2, 3]
    assert joined.y.z.tolist() == [[0, 0], [1, 1], [1, 1]]
    assert joined.t.tolist() == ["u", 0, 0]


def test_cat_names_the_key_whose_shapes_differ_and_refuses_single_values():
    with pytest.raises(ValueError, match=r"^a\.b: "):
        Batch.cat([Batch(a={"b": np.zeros((1, 2))}), Batch(a={"b": np.zeros((1, 3))})])
    with pytest.raises(ValueError, match=r"a is a single value without rows; Batch\.stack"):
        Batch.cat([Batch(a=1), Batch(a=2)])


def test_stack_makes_rows_along_either_axis():
    assert numbers(Batch.stack(two())) == ([[1.0, 2.0], [5.0, 6.0]], [[3, 4], [7, 8]])
    assert numbers(Batch.stack(two(), axis=1)) == ([[1.0, 5.0], [2.0, 6.0]], [[3, 7], [4, 8]])
    assert Batch.stack([Batch(a=1), Batch(a=2)]).a.tolist() == [1, 2]


def test_stack_fills_missing_keys_along_axis_0_only():
    a, b = Batch(x=[1, 2]), Batch(x=[3, 4], y=torch.ones(2))
    assert Batch.stack([a, b]).y.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(ValueError, match="along axis 0 only"):
        Batch.stack([a, b], axis=1)


def test_tensors_are_joined_as_tensors():
    parts = [Batch(a=torch.ones(1, 2)), Batch(a=torch.zeros(2, 2))]
    assert Batch.cat(parts).a.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert Batch.cat([*parts, Batch(b=torch.ones(1))], fill=9).a[-1].tolist() == [9, 9]


# ------------------------------------------------------------------------------------------------- calculating


def test_numbers_and_batches_of_the_same_keys_can_be_computed_with():
    a, b = two()
    assert numbers(a + 1) == ([2.0, 3.0], [4, 5])
    assert numbers(a * 2) == numbers(2 * a) == numbers(np.float64(2) * a) == ([2.0, 4.0], [6, 8])
    assert numbers(b - a) == ([4.0, 4.0], [4, 4])
    assert numbers(1 - a) == ([0.0, -1.0], [-2, -3])
    assert (12 / a).y.z.tolist() == [4.0, 3.0]
    assert numbers(a / 2) == ([0.5, 1.0], [1.5, 2.0])
    assert numbers(a + b) == ([6.0, 8.0], [10, 12])
    a += b
    assert numbers(a) == ([6.0, 8.0], [10, 12])
    assert (Batch(n=None, a=[1]) + 1).n is None


def test_batches_of_other_keys_cannot_be_computed_with():
    with pytest.raises(ValueError, match="other keys: y"):
        two()[0] + Batch(x=[1, 2])
    with pytest.raises(TypeError):
        two()[0] + "text"


def test_equal_means_the_same_keys_shapes_and_content():
    assert two()[0] == two()[0]
    assert two()[0] != two()[1]
    assert Batch(a=[1, 2]) != Batch(a=[1, 2], b=1)
    assert Batch(a=torch.ones(2)) == Batch(a=torch.ones(2)) != Batch(a=np.ones(2))


# ------------------------------------------------------------------------------------- copies and conversions


def test_copies_and_pickles_are_equal_and_share_nothing():
    a, _ = two()
    for other in (a.copy(), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a
        other.x[0] = 100
        assert a.x[0] == 1
    shallow = copy.copy(a)
    shallow.more = 1
    assert "more" not in a
    assert shallow.x is a.x


def test_arrays_become_tensors_and_back():
    batch = Batch(a=[1.0, 2.0], n=3, b={"c": [1, 2]}, t=["u", "v"])
    tensors = batch.to_torch(dtype=torch.float32)
    assert tensors.a.dtype == tensors.b.c.dtype == tensors.n.dtype == torch.float32
    assert tensors.t.tolist() == ["u", "v"]
    assert isinstance(tensors.to_numpy().b.c, np.ndarray)
    assert isinstance(batch.a, np.ndarray)


def test_update_sets_keys_and_to_dict_gives_nested_dicts():
    a, _ = two()
    a.update({"x": [0.0]}, w=[1])
    assert a.to_dict().keys() == {"x", "y", "w"}
    assert a.to_dict()["y"]["z"].tolist() == [3, 4]


def test_in_its_text_the_lines_of_a_value_stand_below_each_other():
    assert repr(Batch(a=1, obs={"c": [[1, 2], [3, 4]]})) == (
        "Batch(\n"
        "    a: 1,\n"
        "    obs: Batch(\n"
        "             c: array([[1, 2],\n"
        "                       [3, 4]]),\n"
        "         ),\n"
        ")"
    )
    assert repr(Batch()) == "Batch()"


def test_an_empty_batch_has_no_parts():
    assert list(Batch().split(2)) == []
