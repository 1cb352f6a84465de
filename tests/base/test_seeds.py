"""Named random streams: repeatable, independent, the same in every process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sordino.seeds import Seeds

PATHS = st.lists(st.text(st.characters(codec=None), max_size=4), max_size=4).map(tuple)


@given(root=st.integers(0, 2**128), path=PATHS)
def test_the_same_place_gives_the_same_numbers(root: int, path: tuple[str, ...]) -> None:
    first, second = Seeds(root).at(*path), Seeds(root).at(*path)
    assert first.key() == second.key()
    assert np.array_equal(first.generator().random(4), second.generator().random(4))


@given(root=st.integers(0, 9), other_root=st.integers(0, 9), path=PATHS, other_path=PATHS)
def test_two_places_share_no_key(
    root: int, other_root: int, path: tuple[str, ...], other_path: tuple[str, ...]
) -> None:
    same = (root, path) == (other_root, other_path)
    assert (Seeds(root, path).key() == Seeds(other_root, other_path).key()) == same


def test_names_that_join_to_one_text_are_still_apart() -> None:
    keys = {Seeds(1).at("a", "b").key(), Seeds(1).at("a\x00b").key(), Seeds(1).at("ab").key(), Seeds(1).at("a b").key()}
    assert len(keys) == 4


def test_a_name_from_an_undecodable_file_name_is_accepted() -> None:
    name = b"voice-\xff.wav".decode("utf-8", "surrogateescape")
    assert Seeds(1).at(name).key() != Seeds(1).at("voice-.wav").key()


def test_steps_and_numbers_reach_the_same_place() -> None:
    assert Seeds(3).at("round", 7).at("client") == Seeds(3).at("round", "7", "client")


def test_a_subtree_does_not_depend_on_what_was_drawn_elsewhere() -> None:
    seeds = Seeds(5)
    expected = seeds.at("b").generator().random(3)
    seeds.at("a").generator().random(1000)
    assert np.array_equal(seeds.at("b").generator().random(3), expected)


def test_neighbouring_streams_are_uncorrelated() -> None:
    draws = np.stack([Seeds(0).at("round", index).generator().standard_normal(4000) for index in range(20)])
    correlations = np.corrcoef(draws)[~np.eye(20, dtype=bool)]
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


def test_integers_fit_what_libraries_take() -> None:
    integers = [Seeds(0).at(index).integer() for index in range(200)]
    assert len(set(integers)) == 200
    assert min(integers) >= 0
    assert 2**61 < max(integers) < 2**63


def test_entropy_gives_another_tree_each_time() -> None:
    assert Seeds.from_entropy().key() != Seeds.from_entropy().key()


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    program = "from sordino.seeds import Seeds; print(Seeds(42).at('round', 7, 'ü').integer())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert outputs == {str(Seeds(42).at("round", 7, "ü").integer())}
