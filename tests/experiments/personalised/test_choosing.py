"""Which methods a comparison is of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sordino.errors import ConfigError
from sordino.experiments.personalised.choosing import choose_methods, compare_methods
from sordino.federated.methods.pfedme import PFedMe

EXAMPLE = Path(__file__).parents[3] / "examples" / "personalised.toml"


def test_methods_are_the_files_own_or_registered_ones() -> None:
    options = choose_methods(
        EXAMPLE, methods=["similarity", "pfedme", "fedavg"], vary={}, seeds=[3, 4], overrides=["federated.passes=4"]
    )
    assert list(options.methods) == ["similarity", "pfedme", "fedavg"]
    assert options.methods["similarity"].centred  # as the file has it
    assert options.methods["pfedme"] == PFedMe()
    assert options.repetitions == (3, 4)
    assert options.federated.passes == 4
    assert options.baseline == "similarity"
    of_file = choose_methods(EXAMPLE, methods=["fedavg"], vary={}, seeds=[], overrides=["seeds=[5, 6]"])
    assert of_file.repetitions == (5, 6), "no seeds named: the file's own"
    assert choose_methods(EXAMPLE, methods=["similarity"], vary={}, seeds=[0], baseline="start").baseline == "start"


def test_a_varied_option_takes_the_place_of_its_method() -> None:
    options = choose_methods(
        EXAMPLE, methods=["fedavg", "similarity"], vary={"methods.similarity.beta": ["0", "0.8"]}, seeds=[0]
    )
    assert list(options.methods) == ["fedavg", "similarity-beta-0", "similarity-beta-0.8"]
    assert [options.methods[name].beta for name in list(options.methods)[1:]] == [0, 0.8]
    assert options.methods["similarity-beta-0"].centred


@pytest.mark.parametrize(
    ("methods", "vary", "baseline", "words"),
    [
        (["fedavgg"], {}, None, "did you mean 'fedavg'"),
        (["fedavg"], {"federated.passes": ["1", "2"]}, None, "expected an option of a method"),
        (["fedavg"], {"methods.ditto.strength": ["1"]}, None, "methods = 'ditto' is not known"),
        (["fedavg"], {}, "local", "--reference"),
        (["similarity"], {"methods.similarity.beta": ["2"]}, None, "beta"),
    ],
)
def test_mistakes_are_refused(methods: list[str], vary: dict[str, list[str]], baseline: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        choose_methods(EXAMPLE, methods=methods, vary=vary, seeds=[0], baseline=baseline)


def test_another_task_has_no_methods() -> None:
    with pytest.raises(ConfigError, match=r'expected an experiment with task = "personalised"'):
        choose_methods(None, methods=["fedavg"], vary={}, seeds=[0])


def test_a_folder_of_other_settings_is_left_alone(tmp_path: Path) -> None:
    options = choose_methods(EXAMPLE, methods=["fedavg"], vary={}, seeds=[0])
    (tmp_path / "config.toml").write_text("seed = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="other settings"):
        compare_methods(replace(options, seed=1), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]
