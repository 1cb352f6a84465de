"""TOML to dataclasses and back: ancestors, overrides, environment, choices, and one clear sentence for each mistake."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino._check import positive
from sordino._registry import Registry
from sordino.config import Choice, FolderOrName, Home, build, dump, load, option, to_toml
from sordino.errors import ConfigError


class Rule:
    """A family of options for these tests."""


RULES: Registry[Rule] = Registry("rule")


@RULES.register("flat")
@dataclass(frozen=True, slots=True)
class Flat(Rule): ...


@RULES.register("split")
@dataclass(frozen=True, slots=True)
class Split(Rule):
    alpha: float = option("Share of the encoder.", 0.05)
    pools: tuple[str, ...] = option("Pools.", ())


@dataclass(frozen=True)
class Privacy:
    clip_norm: float = option("Largest norm of an update.", 1.0)
    epsilon: float | None = option("Target.", None)
    unit: Literal["speaker", "client"] = option("Whom the guarantee is about.", "speaker")
    allocation: Annotated[Rule, Choice(RULES)] = option("How the bound is divided.", factory=Flat)

    def __post_init__(self) -> None:
        positive("privacy.clip_norm", self.clip_norm)


@dataclass(frozen=True)
class Experiment:
    corpus: str = option("Name of the corpus.")
    seed: int = option("Seed.", 0)
    seeded: bool = option("Repeatable.", default=False)
    out: Path = option("Run folder.", Path("runs"))
    betas: tuple[float, float] = option("Adam's.", (0.9, 0.999))
    stages: tuple[Privacy, ...] = option("Stages.", ())
    words: Mapping[str, int] = option("Counts.", factory=dict)
    model: Annotated[str, FolderOrName(reserved=("pocket",))] | None = option("Model.", None)
    window: int | str = option("Seconds, or auto.", "auto")
    privacy: Privacy = option("Guarantee.", factory=Privacy)
    derived: int = field(default=7, init=False)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(table: Mapping[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        build(Experiment, {"corpus": "fsdd", **table})
    return str(caught.value)


@dataclass(frozen=True)
class Two:
    strict: Annotated[Privacy, Home("privacy")] = option("One guarantee.", factory=Privacy)
    others: Mapping[str, Annotated[Privacy, Home("privacy")]] = option("And more.", factory=dict)


class TestLoading:
    def test_a_chain_of_ancestors_the_nearest_wins(self, tmp_path: Path) -> None:
        write(tmp_path, "base/grand.toml", "seed = 1\n[privacy]\nclip_norm = 1.0\nunit = 'client'\n")
        write(tmp_path, "base/parent.toml", "extends = 'grand.toml'\nseed = 2\n[privacy]\nclip_norm = 2.0\n")
        child = write(tmp_path, "child.toml", "extends = 'base/parent.toml'\n[privacy]\nepsilon = 8\n")
        assert load(child) == {"seed": 2, "privacy": {"clip_norm": 2.0, "unit": "client", "epsilon": 8}}

    def test_a_relative_path_starts_from_the_file_that_names_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "project").mkdir()
        write(tmp_path, "base.toml", "corpus = 'a'\nout = '${PLACE}/runs'\n")
        child = write(tmp_path / "project", "child.toml", "extends = '../base.toml'\ncorpus = 'b'\n")
        monkeypatch.setenv("PLACE", "results")
        monkeypatch.chdir("/")
        assert build(Experiment, load(child)).out == tmp_path / "results" / "runs"
        assert build(Experiment, load(child, ["out=runs"])).out == Path("runs"), "a --set counts from where one stands"
        assert build(Experiment, load(child, ["out=~/runs"])).out == Path.home() / "runs"
        monkeypatch.setenv("PLACE", "/elsewhere")
        assert build(Experiment, load(child)).out == Path("/elsewhere/runs")
        assert type(build(Experiment, load(child)).corpus) is str

    def test_a_name_is_a_folder_if_there_is_such_a_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = write(tmp_path, "a.toml", "corpus = 'a'\nmodel = 'openai/whisper-tiny.en'\n")
        monkeypatch.chdir("/")
        assert build(Experiment, load(file)).model == "openai/whisper-tiny.en"
        (tmp_path / "openai" / "whisper-tiny.en").mkdir(parents=True)
        assert build(Experiment, load(file)).model == str(tmp_path / "openai" / "whisper-tiny.en")
        (tmp_path / "pocket").mkdir()
        pocket = write(tmp_path, "b.toml", "corpus = 'a'\nmodel = 'pocket'\n")
        assert build(Experiment, load(pocket)).model == "pocket", "a reserved name is no folder"

    def test_a_circle_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, "a.toml", "extends = 'b.toml'")
        write(tmp_path, "b.toml", "extends = './a.toml'")
        with pytest.raises(ConfigError, match=r"a\.toml -> b\.toml -> a\.toml; break the circle"):
            load(tmp_path / "a.toml")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("seed = ", r"exp\.toml is not TOML: .*; correct that line"),
            ("seed = 1\nseed = 2", r"exp\.toml is not TOML"),
            ("extends = 3", r"exp\.toml: extends = 3: expected the path of another experiment file"),
            ("extends = 'gone.toml'", r"gone\.toml does not exist, but .*exp\.toml extends it; correct that path"),
        ],
    )
    def test_a_file_that_cannot_be_used(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            load(write(tmp_path, "exp.toml", text))

    def test_a_missing_file_a_folder_and_a_recording(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"gone\.toml does not exist; name an experiment file"):
            load(tmp_path / "gone.toml")
        with pytest.raises(ConfigError, match=r"cannot be read as a text file \(Is a directory\)"):
            load(tmp_path)
        (tmp_path / "audio.wav").write_bytes(b"RIFF\xff\xfe")
        with pytest.raises(ConfigError, match=r"cannot be read as a text file \(it is not UTF-8\)"):
            load(tmp_path / "audio.wav")

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "exp.toml").write_text("seed = 1\n", encoding="utf-8-sig")
        assert load(tmp_path / "exp.toml") == {"seed": 1}

    def test_environment_variables_are_filled_in_everywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CORPUS_ROOT", "/corpora")
        path = write(tmp_path, "exp.toml", "a = '${CORPUS_ROOT}/x'\nb = [{c = '${CORPUS_ROOT}'}]\nd = '$CORPUS_ROOT'\n")
        table = load(path, ["e=${CORPUS_ROOT}/${CORPUS_ROOT}"])
        assert table == {"a": "/corpora/x", "b": [{"c": "/corpora"}], "d": "$CORPUS_ROOT", "e": "/corpora//corpora"}

    def test_an_unset_environment_variable_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CORPUS_ROOT", raising=False)
        with pytest.raises(ConfigError, match=r"the environment variable CORPUS_ROOT is not set.*\$\{CORPUS_ROOT\}"):
            load(write(tmp_path, "exp.toml", "a = '${CORPUS_ROOT}'"))


class TestOverrides:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("8", 8),
            ("1e-5", 1e-5),
            ("true", True),
            ("'8'", "8"),
            ("plain text", "plain text"),
            ("a=b", "a=b"),
            ("", ""),
            ("[1, 2]", [1, 2]),
            ("{method = 'split', alpha = 0.1}", {"method": "split", "alpha": 0.1}),
            ("1\nother = 2", "1\nother = 2"),
        ],
    )
    def test_values_are_toml_or_else_text(self, tmp_path: Path, text: str, value: object) -> None:
        assert load(write(tmp_path, "exp.toml", ""), [f"key={text}"]) == {"key": value}

    def test_nested_keys_are_merged_and_the_last_wins(self, tmp_path: Path) -> None:
        path = write(tmp_path, "exp.toml", "[privacy]\nclip_norm = 1.0\nunit = 'client'\n")
        table = load(path, ["privacy.clip_norm=2", "privacy . epsilon = 8", "privacy.clip_norm=3", "new.a.b=1"])
        assert table == {"privacy": {"clip_norm": 3, "unit": "client", "epsilon": 8}, "new": {"a": {"b": 1}}}

    @pytest.mark.parametrize("text", ["privacy.epsilon", "=8", "a..b=1", ".a=1", "a b=1", "a.=1"])
    def test_what_is_no_key_and_value_is_refused(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ConfigError, match=r"expected key=value, e\.g\. --set privacy\.epsilon=8"):
            load(write(tmp_path, "exp.toml", ""), [text])


class TestMethods:
    """A table that names another method replaces the one below it, whose options would mean nothing to it."""

    @pytest.mark.parametrize(
        ("below", "above", "result"),
        [
            ("{method = 'split', alpha = 0.1}", "{method = 'flat'}", {"method": "flat"}),
            ("{method = 'split', alpha = 0.1}", "'flat'", "flat"),
            ("{method = 'split', alpha = 0.1}", "{alpha = 0.2}", {"method": "split", "alpha": 0.2}),
            (
                "{method = 'split', alpha = 0.1}",
                "{method = 'split', pools = []}",
                {"method": "split", "alpha": 0.1, "pools": []},
            ),
            ("'flat'", "{method = 'split', alpha = 0.1}", {"method": "split", "alpha": 0.1}),
            ("'split'", "{alpha = 0.2}", {"method": "split", "alpha": 0.2}),
        ],
    )
    def test_merging(self, tmp_path: Path, below: str, above: str, result: object) -> None:
        write(tmp_path, "base.toml", f"[privacy]\nallocation = {below}\n")
        child = write(tmp_path, "child.toml", f"extends = 'base.toml'\n[privacy]\nallocation = {above}\n")
        assert load(child) == {"privacy": {"allocation": result}}
        assert load(tmp_path / "base.toml", [f"privacy.allocation={above}"]) == {"privacy": {"allocation": result}}

    def test_one_option_of_a_method_given_by_name_only(self, tmp_path: Path) -> None:
        path = write(tmp_path, "exp.toml", "corpus = 'fsdd'\nprivacy.allocation = 'split'\n")
        assert build(Experiment, load(path, ["privacy.allocation.alpha=0.2"])).privacy.allocation == Split(alpha=0.2)


class TestBuilding:
    def test_every_kind_of_field(self) -> None:
        table = {
            "corpus": "fsdd",
            "seed": 3,
            "seeded": True,
            "out": "here",
            "betas": [0, 1],
            "stages": [{"epsilon": 2}],
            "words": {"a": 1},
            "window": 2,
            "privacy": {"clip_norm": 2, "allocation": {"method": "split", "pools": ["a", "b"]}},
        }
        made = build(Experiment, table)
        assert made == Experiment(
            corpus="fsdd",
            seed=3,
            seeded=True,
            out=Path("here"),
            betas=(0.0, 1.0),
            stages=(Privacy(epsilon=2.0),),
            words={"a": 1},
            window=2,
            privacy=Privacy(clip_norm=2.0, allocation=Split(pools=("a", "b"))),
        )
        assert isinstance(made.privacy.clip_norm, float), "a whole number becomes a float where one is expected"

    @pytest.mark.parametrize("value", ["split", {"method": "split"}])
    def test_a_choice_is_a_name_or_a_table(self, value: object) -> None:
        assert build(Privacy, {"allocation": value}).allocation == Split()

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"sed": 1}, "unknown key 'sed' (did you mean 'seed'?); keys here: corpus, seed, "),
            ({"derived": 1}, "unknown key 'derived'"),
            ({"privacy": {"epsilom": 8}}, "unknown key 'privacy.epsilom' (did you mean 'epsilon'?)"),
            ({"stages": [{}, {"epsilom": 8}]}, "unknown key 'stages[1].epsilom' (did you mean 'epsilon'?)"),
            ({"seed": "one"}, "seed = 'one': expected a whole number; correct its type."),
            ({"seed": 1.5}, "seed = 1.5: expected a whole number; correct its type."),
            ({"seed": True}, "seed = True: expected a whole number; correct its type."),
            ({"seeded": 1}, "seeded = 1: expected true or false; correct its type."),
            ({"corpus": 1}, "corpus = 1: expected a text in quotes; correct its type."),
            ({"out": 1}, "out = 1: expected a path in quotes; correct its type."),
            ({"betas": [0.9]}, "betas = [0.9]: expected 2 values; give that many."),
            ({"betas": [0.9, "x"]}, "betas[1] = 'x': expected a number such as 0.5; correct its type."),
            ({"betas": 0.9}, "betas = 0.9: expected a list; correct its type."),
            ({"words": {"a": "x"}}, "words.a = 'x': expected a whole number; correct its type."),
            ({"words": 1}, "words = 1: expected a table; correct its type."),
            ({"privacy": 1}, "privacy = 1: expected a table; correct its type."),
            ({"privacy": {"epsilon": "x"}}, "privacy.epsilon = 'x': expected a number such as 0.5; correct its type."),
            ({"privacy": {"clip_norm": 10**400}}, "expected a number such as 0.5; correct its type."),
            ({"privacy": {"clip_norm": -1.0}}, "privacy.clip_norm = -1.0: expected a number above 0"),
            ({"privacy": {"unit": "speakr"}}, "privacy.unit = 'speakr' is not known (did you mean 'speaker'?)"),
            ({"privacy": {"allocation": "splitt"}}, "rule 'splitt' is not known (did you mean 'split'?)"),
            ({"privacy": {"allocation": {"alpha": 1}}}, "unknown key 'privacy.allocation.alpha'"),
            (
                {"privacy": {"allocation": 3}},
                "privacy.allocation = 3: expected a name such as 'flat', or a table whose method is one",
            ),
            (
                {"privacy": {"allocation": {"method": "split", "alhpa": 1}}},
                "unknown key 'privacy.allocation.alhpa' (did you mean 'alpha'?); keys here: alpha, pools.",
            ),
            (
                {"privacy": {"allocation": {"method": "flat", "x": 1}}},
                "unknown key 'privacy.allocation.x'; keys here: none.",
            ),
        ],
    )
    def test_a_mistake_is_answered_with_place_value_and_remedy(self, table: Mapping[str, Any], message: str) -> None:
        assert message in refusal(table)

    def test_a_missing_key_is_explained(self) -> None:
        with pytest.raises(ConfigError) as caught:
            build(Experiment, {})
        assert str(caught.value) == "corpus is missing; set it. It means: Name of the corpus."


@dataclass(frozen=True)
class Voice:
    """Options that have a field called ``name``, as people's tables do."""

    name: str = option("Whose voice.", "anna")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NUMBERS = st.floats(1e-300, 1e300)
RULE = st.just(Flat()) | st.builds(Split, alpha=NUMBERS, pools=st.lists(TEXT, max_size=3).map(tuple))
PRIVACY = st.builds(
    Privacy,
    clip_norm=NUMBERS,
    epsilon=st.none() | NUMBERS,
    unit=st.sampled_from(["speaker", "client"]),
    allocation=RULE,
)
EXPERIMENTS = st.builds(
    Experiment,
    corpus=TEXT,
    seed=st.integers(-(2**63), 2**63 - 1),
    seeded=st.booleans(),
    out=st.sampled_from([Path("/runs"), Path("/a/b c")]),
    betas=st.tuples(NUMBERS, NUMBERS),
    stages=st.lists(PRIVACY, max_size=2).map(tuple),
    words=st.dictionaries(TEXT, st.integers(0, 9), max_size=2),
    window=st.integers(1, 30) | st.just("auto"),
    privacy=PRIVACY,
)


class TestDumping:
    @given(experiment=EXPERIMENTS)
    def test_options_survive_toml(self, experiment: Experiment) -> None:
        assert build(Experiment, tomllib.loads(to_toml(experiment))) == experiment

    def test_the_table_holds_methods_and_no_empty_or_derived_keys(self) -> None:
        table = dump(Experiment(corpus="fsdd", privacy=Privacy(allocation=Split(alpha=0.1))))
        assert table["privacy"] == {
            "clip_norm": 1.0,
            "unit": "speaker",
            "allocation": {"method": "split", "alpha": 0.1, "pools": []},
        }
        assert "derived" not in table

    def test_a_relative_path_means_the_same_from_any_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        text = to_toml(Experiment(corpus="fsdd", out=Path("runs/a")))
        monkeypatch.chdir("/")
        assert build(Experiment, tomllib.loads(text)).out == tmp_path / "runs" / "a"

    def test_a_field_called_name_is_no_method(self) -> None:
        assert dump(Voice()) == {"name": "anna"}
        assert build(Voice, dump(Voice(name="ben"))) == Voice(name="ben")

    def test_the_help_of_an_option_is_kept(self) -> None:
        assert Privacy.__dataclass_fields__["epsilon"].metadata["help"] == "Target."


def test_a_table_that_sets_options_of_the_default_member_need_not_name_it() -> None:
    from sordino.privacy import PrivacyOptions
    from sordino.privacy.allocations.split import AlphaSplit

    options = build(PrivacyOptions, {"epsilon": 8, "allocation": {"alpha": 0.2}})
    assert options.allocation == AlphaSplit(alpha=0.2)


def test_a_table_called_method_is_merged_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[federated]\nrounds = 3\n")
    table = load(file, ["federated.method.server_lr=2"])
    assert table == {"federated": {"rounds": 3, "method": {"server_lr": 2}}}


def test_what_comes_from_a_file_is_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('corpus = "voices"\n')
    assert type(build(Experiment, load(path)).corpus) is str
    privacy = tmp_path / "privacy.toml"
    privacy.write_text('unit = "client"\n')
    unit = build(Privacy, load(privacy)).unit
    assert type(unit) is str
    assert copy.deepcopy(unit) == "client"


def test_a_message_names_the_key_that_the_file_has() -> None:
    with pytest.raises(ConfigError, match=r"^strict\.clip_norm = 0\.0: .*; set strict\.clip_norm to such a number\.$"):
        build(Two, {"strict": {"clip_norm": 0}})
    with pytest.raises(ConfigError, match=r"^others\.loose\.clip_norm = -1\.0"):
        build(Two, {"others": {"loose": {"clip_norm": -1}}})
    assert build(Two, {"strict": {"clip_norm": 2}}).strict.clip_norm == 2
