"""What an attacker at the server makes of the noised embeddings of the test texts."""

from __future__ import annotations

from typing import Any

from sordino.errors import ConfigError
from sordino.evaluation.attacks import (
    InversionSuccess,
    attribute_inference,
    averaged,
    learned_inversion,
    nearest_tokens,
    token_success,
)
from sordino.evaluation.attacks.embedding_inversion import Ids, Rows
from sordino.experiments.split.attacking_methods import GENERATED, GRADIENT_TOKENS
from sordino.experiments.split.material import Material, Texts
from sordino.experiments.tasks.split import SplitAttacks
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.sending import Sender

__all__ = ["attack", "empirical_privacy"]

_ONCE = ("nearest-l2", "nearest-cosine", "learned", GENERATED)
"""Attacks on one draw, the only one that a client in the default mode gives."""
_REPEATED = "repeated-"


def attack(
    options: SplitAttacks, texts: Texts, material: Material, *, embedding: ClientEmbedding, sender: Sender, seeds: Seeds
) -> dict[str, Any]:
    """Runs all attacks; each entry is a table of its success.

    Raises:
        ConfigError: an attribute that the texts do not have.
    """
    count = options.tokens or len(material.rows["test"])
    noised, clean = (rows["test"][:count].numpy() for rows in (material.noised_rows, material.rows))
    truth, table = material.sequences["test"].ids[:count].numpy(), embedding.table.numpy()
    mask = material.sequences["test"].mask
    places = round(len(truth) * mask.numel() / int(mask.sum()))

    def judged(guessed: Ids) -> InversionSuccess:
        return token_success(guessed, truth, places=places, vocabulary=len(table))

    found = {
        "nearest-l2": judged(nearest_tokens(noised, table, metric="l2")),
        "nearest-cosine": judged(nearest_tokens(noised, table, metric="cosine")),
        "clean": judged(nearest_tokens(clean, table, metric="l2")),
    }
    if options.learned:
        guessed = learned_inversion(
            noised,
            table,
            examples=material.noised_rows["public"].numpy(),
            answers=material.sequences["public"].ids.numpy(),
            seed=seeds.at("inverter").integer(),
        )
        found["learned"] = judged(guessed)
    for times in options.repeats:
        mean = averaged(lambda number: _drawn(sender, clean, seeds, number), times=times)
        found[f"{_REPEATED}{times}"] = judged(nearest_tokens(mean, table, metric="cosine"))
    result: dict[str, Any] = {name: success.to_json() for name, success in found.items()}
    if options.attribute:
        result["attribute"] = _attribute(options.attribute, texts, material)
    return result


def _drawn(sender: Sender, clean: Rows, seeds: Seeds, number: int) -> Rows:
    """A draw that is imagined and never sent."""
    stream = NoiseSource(seeds).stream("repeated", number)
    return sender.noise.rehearse(clean, space=sender.space, stream=stream)


def _attribute(name: str, texts: Texts, material: Material) -> dict[str, Any]:
    examples = texts.sets["test"]
    if name != "label" and not all(name in example.attributes for example in examples):
        known = ", ".join(["label", *examples[0].attributes])
        raise ConfigError(f"attacks.attribute = {name!r}: expected one of {known}; choose among those.")
    success = attribute_inference(
        material.noised_rows["test"].numpy(),
        material.sequences["test"].lengths.tolist(),
        [example.label if name == "label" else example.attributes[name] for example in examples],
        groups=[str(number) for number in range(len(examples))],
    )
    return {"of": name, **success.to_json()}


def empirical_privacy(attacks: dict[str, Any], *, sees: str, draws: int, gradients: bool) -> float:
    """1 - success of the best attack on what a method shows the server, on tokens that are no padding.

    Args:
        attacks: results of `attack`.
        sees: what the method shows.
        draws: how often noise was drawn for the texts that were drawn most often; a server averages them.
        gradients: whether the server gets gradients, too.
    """
    if sees == "nothing":
        return 1.0
    if sees == "clean":
        return float(attacks["clean"]["empirical_privacy"])
    repeated = [name for name in attacks if name.startswith(_REPEATED) and int(name.removeprefix(_REPEATED)) <= draws]
    more = [GRADIENT_TOKENS] if gradients else []
    tried = [name for name in (*_ONCE, *repeated, *more) if name in attacks]
    return min(float(attacks[name]["empirical_privacy"]) for name in tried)
