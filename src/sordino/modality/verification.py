"""A certificate against the run that it is of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError
from sordino.modality.certificate import issue_certificate
from sordino.modality.hashing import fingerprint
from sordino.models.emotion.storage import load_network
from sordino.records import RunFolder

__all__ = ["Check", "read_certificate", "verify_certificate"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a certificate says, and whether the run bears it out.

    Attributes:
        name: what was looked at.
        holds: the outcome.
        found: what was found, in words.
    """

    name: str
    holds: bool
    found: str


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate's file; raises ConfigError if it is none."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        for key in (
            "certificate",
            "mode",
            "modality",
            "epsilon",
            "delta",
            "statement",
            "hashes",
            "charges",
            "mechanism",
        ):
            table[key]
        table["hashes"]["kept"], table["hashes"]["after"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"{path} is no certificate ({reason}); name a certificate.json, which sordino modality certify writes."
        ) from None
    result: dict[str, Any] = table
    return result


def verify_certificate(certificate: Mapping[str, Any], folder: RunFolder) -> list[Check]:
    """All checks; the certificate is good if every one holds.

    The figures are recomputed from the ledger, the hashes from the released network.
    """
    now = issue_certificate(folder)
    network, _ = load_network(folder.model)
    kept = network.reduced(certificate["modality"])
    return [
        _same("released network", certificate["hashes"]["after"], now["hashes"]["after"], "its weights are another's"),
        _same(
            "modalities that stay", certificate["hashes"]["kept"], fingerprint(kept), "they changed with the withdrawal"
        ),
        _charges(certificate, now),
        _figures(certificate, now),
        _same("statement", certificate["statement"], now["statement"], "the ledger says something else"),
        *_mechanism(certificate, now),
        *(_deleted(certificate, network.modalities) if certificate["mode"] == "delete" else ()),
    ]


def _same(name: str, claimed: object, found: object, otherwise: str) -> Check:
    return Check(name, claimed == found, "as certified" if claimed == found else otherwise)


def _charges(certificate: Mapping[str, Any], now: Mapping[str, Any]) -> Check:
    """A later surgery is charged to the same ledger: then the certificate does not say all."""
    more = now["charges"] - certificate["charges"]
    if more > 0:
        return Check(
            "ledger", holds=False, found=f"{more} later charges, which the certificate leaves out; issue another"
        )
    same = certificate["hashes"].get("ledger") == now["hashes"]["ledger"]
    return Check("ledger", same, "as certified" if same else "it was changed")


def _figures(certificate: Mapping[str, Any], now: Mapping[str, Any]) -> Check:
    claimed, found = certificate["epsilon"], now["epsilon"]
    holds = certificate["delta"] == now["delta"] and (
        claimed == found or (claimed is not None and found is not None and claimed >= found * (1 - 1e-9))
    )
    figure = "no epsilon" if found is None else f"epsilon {found:.4g} at delta {now['delta']:g}"
    return Check("epsilon", holds, f"the ledger gives {figure}")


def _mechanism(certificate: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Check]:
    """Sigma, sensitivity and multiplier must fit each other, and the multipliers what was charged."""
    parts = certificate["mechanism"].get("parts", [])
    if not parts:
        return
    fits = all(
        abs(part["noise_multiplier"] * part["sensitivity"] - part["noise_std"]) <= 1e-9 * part["noise_std"]
        for part in parts
    )
    yield Check("noise", fits, "sigma = z D in every part" if fits else "some sigma is not z D")
    charged = now["composition"]
    whole = sum(part["noise_multiplier"] ** -2 for part in parts)
    paid = charged is not None and whole <= charged["noise_multiplier"] ** -2 * (1 + 1e-9)
    yield Check("charges for each part", paid, "all charged" if paid else "less was charged than released")


def _deleted(certificate: Mapping[str, Any], modalities: tuple[str, ...]) -> Iterator[Check]:
    gone = certificate["modality"] not in modalities
    yield Check("deleted branch", gone, "not in the network" if gone else "still in the network")
    hashes = certificate["hashes"]
    twin = hashes.get("never_exposed")
    yield _same(
        "never-exposed twin", hashes["after"], twin, "the released network is not the one trained without the modality"
    )
