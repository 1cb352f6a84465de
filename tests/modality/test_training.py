"""A branch that is trained last leaves everything else to the bit; joint training does not."""

from __future__ import annotations

import torch
from withdrawal import BRANCH, SEEDS, TRAINING, case, kept_network, world

from sordino.modality import fingerprint, owners, train_branch, train_jointly
from sordino.models.emotion import Branch, EmotionNetwork


def test_the_kept_network_is_the_one_that_was_never_given_the_modality() -> None:
    made = case()
    before = fingerprint(made.kept)
    exposed = made.exposed_network
    never = kept_network(world().only(["voice"]))
    assert fingerprint(made.kept) == before == fingerprint(never) == fingerprint(exposed.reduced("face"))
    heard = world().only(["voice"])
    assert torch.equal(exposed(heard), never(heard))


def test_training_learns_and_leaves_its_start_alone() -> None:
    made = case()
    start = fingerprint(made.initial)
    clips = world()
    right = [
        float((made.with_branch(branch).predict(clips.only(["face"])) == clips.targets).float().mean())
        for branch in (made.initial, made.reference, made.exposed)
    ]
    assert fingerprint(made.initial) == start
    assert right[0] < right[1] < right[2]
    assert right[2] > 0.6


def test_training_is_the_same_whatever_was_drawn_before() -> None:
    def trained() -> str:
        made = case()
        branch = train_branch(made.kept, made.initial, name="face", clips=world(), options=TRAINING, seeds=SEEDS)
        return fingerprint(branch)

    torch.manual_seed(1)
    first = trained()
    torch.manual_seed(2)
    torch.rand(5)
    after = torch.rand(1)
    torch.manual_seed(2)
    torch.rand(5)
    assert trained() == first
    assert torch.equal(torch.rand(1), after)  # and nobody else's random numbers were used up


def test_without_any_clip_nothing_is_learnt() -> None:
    made = case()
    untouched = train_branch(
        made.kept, made.reference, name="face", clips=world().only(["voice"]), options=TRAINING, seeds=SEEDS
    )
    assert fingerprint(untouched) == fingerprint(made.reference)


def test_joint_training_leaves_traces_of_each_modality_in_the_others() -> None:
    start = EmotionNetwork(3)
    for seed, (name, width) in enumerate({"voice": 5, "face": 4}.items()):
        start = start.extended(name, Branch(width, 3, options=BRANCH, seed=seed))
    before = fingerprint(start)
    with_face = train_jointly(start, clips=world(), options=TRAINING, seeds=SEEDS)
    without = train_jointly(start.reduced("face"), clips=world().only(["voice"]), options=TRAINING, seeds=SEEDS)
    assert fingerprint(start) == before
    assert fingerprint(with_face.reduced("face")) != fingerprint(without)
    for mask in (["voice"], ["face"], ["voice", "face"]):
        clips = world().only(mask)
        assert float((with_face.predict(clips) == clips.targets).float().mean()) > 0.6


def test_who_owns_a_parameter_is_a_fact_of_the_architecture() -> None:
    made = case()
    static = owners(made.exposed_network)
    assert static == owners(made.with_branch(made.initial))
    assert set(static) == set(made.exposed_network.state_dict())
    assert static["branches.face.fusion.weight"] == ("face", "fusion")
    assert {modality for modality, _ in static.values()} == {"voice", "face"}
