"""Speech: manifests, recordings, features, who the clients are, and the corpora.

Everything here works without torch, except `FeatureStore` and `ModalityFeatures`, which are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sordino.data.audio import SAMPLE_RATE_HZ, audio_duration, read_audio, write_audio
from sordino.data.census import CensusRow, SharedPrompts, census, shared_prompts, shared_speakers
from sordino.data.checking import DURATION_EDGES_S, ManifestReport, check_manifest
from sordino.data.corpus import CORPORA, Corpus, Splits, readable
from sordino.data.digits import DIGITS, digit_string
from sordino.data.features import LogMel
from sordino.data.holding_out import Division, hold_out, hold_out_speakers
from sordino.data.listening import glance, listen
from sordino.data.manifest import Problem, read_manifest, write_manifest
from sordino.data.partition import PARTITIONS, ByAttribute, BySession, BySpeaker, Client, Partition
from sordino.data.pauses import split_at_pauses
from sordino.data.prepared import require_unwritten, splits_of, write_prepared
from sordino.data.preparing import Prepared, prepare
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.synthetic import Voice, federated_voices, held_out_voices, pretraining_voices, synthesise
from sordino.data.utterance import Utterance

if TYPE_CHECKING:
    from sordino.data.batches import FeatureStore
    from sordino.data.modalities import ModalityFeatures

__all__ = [
    "CORPORA",
    "DIGITS",
    "DURATION_EDGES_S",
    "PARTITIONS",
    "SAMPLE_RATE_HZ",
    "SOURCES",
    "SPLIT",
    "TO_END",
    "ByAttribute",
    "BySession",
    "BySpeaker",
    "CensusRow",
    "Client",
    "Corpus",
    "Division",
    "FeatureStore",
    "LeftOut",
    "LogMel",
    "ManifestReport",
    "ModalityFeatures",
    "Partition",
    "Prepared",
    "Problem",
    "SharedPrompts",
    "Source",
    "Splits",
    "Utterance",
    "Voice",
    "audio_duration",
    "census",
    "check_manifest",
    "digit_string",
    "federated_voices",
    "held_out_voices",
    "glance",
    "hold_out",
    "hold_out_speakers",
    "listen",
    "prepare",
    "pretraining_voices",
    "read_audio",
    "read_manifest",
    "readable",
    "recordings_in",
    "require_unwritten",
    "shared_prompts",
    "shared_speakers",
    "split_at_pauses",
    "splits_of",
    "synthesise",
    "write_audio",
    "write_manifest",
    "write_prepared",
]


def __getattr__(name: str) -> Any:
    if name == "FeatureStore":
        return import_module("sordino.data.batches").FeatureStore
    if name == "ModalityFeatures":
        return import_module("sordino.data.modalities").ModalityFeatures
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
