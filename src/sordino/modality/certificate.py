"""What was withdrawn, how, and what that guarantees: one file that an auditor checks against the run.

A certificate is made from the records of a run alone: its ledger, its released network and ``withdrawal.json``, which the
run leaves. It holds no hash of the network as it was before: whoever can repeat the training could confirm a guess with
it. It is not signed; whoever passes it on vouches for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sordino.errors import ConfigError
from sordino.modality.gaussian import composed_multiplier, gaussian_epsilon, zcdp, zcdp_epsilon
from sordino.modality.hashing import file_fingerprint, fingerprint
from sordino.models.emotion.storage import load_network
from sordino.privacy import make_statement, read_ledger
from sordino.privacy.events import Event, GaussianEvent
from sordino.records import RunFolder

__all__ = ["RECORD", "compose", "issue_certificate", "read_record"]

RECORD: Final = "withdrawal.json"
"""What a run says of its withdrawal."""

_NOISE: Final = {
    False: "from the operating system's generator; its key was held in memory only and is gone",
    True: "from the experiment's seed: whoever knows it can take the noise away, so that nothing is protected",
}


def issue_certificate(folder: RunFolder) -> dict[str, Any]:
    """The certificate of a run, from its records as they are now.

    Raises:
        ConfigError: the run withdrew no modality, or its records are damaged.
        PrivacyError: a ledger that cannot be read.
    """
    record = read_record(folder)
    terms, charges = read_ledger(folder.ledger)
    events = [charge.event for charge in charges]
    statement = make_statement(terms, events)
    network, _ = load_network(folder.model)
    exact = record["mode"] == "delete"
    proven = [value for name in ("pld", "rdp") if isinstance(value := statement.epsilon[name], float)]
    return {
        "certificate": 1,
        "mode": record["mode"],
        "modality": record["modality"],
        "epsilon": 0.0 if exact else min(proven, default=None),
        "delta": 0.0 if exact else terms.delta,
        "guarantee": exact or bool(proven),
        "accountant": "none needed: nothing was released that depends on the modality"
        if exact
        else "PLD, RDP where it has none",
        "adjacency": record["mechanism"]["adjacency"],
        "scope": record["scope"],
        "statement": statement.words,
        "not_covered": list(terms.caveats),
        "mechanism": record["mechanism"],
        "composition": compose(events),
        "charges": len(events),
        "noise": _NOISE[terms.seeded],
        "hashes": {
            **record["hashes"],
            "after": fingerprint(network),
            "ledger": file_fingerprint(folder.ledger),
        },
        "tests": record["tests"],
    }


def read_record(folder: RunFolder) -> dict[str, Any]:
    """``withdrawal.json``; raises ConfigError if the run left none, or a damaged one."""
    path = folder.path / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in ("mode", "modality", "scope", "mechanism", "hashes", "tests"):
            record[key]
        record["mechanism"]["adjacency"]
    except OSError:
        raise ConfigError(
            f'{folder.path} has no {RECORD}: expected a finished run with task = "emotion"; name the folder of one.'
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged ({error!r}); restore it from a copy.") from None
    result: dict[str, Any] = record
    return result


def compose(events: Sequence[Event]) -> Mapping[str, float] | None:
    """All releases as one, in the figures that publications state; None unless all are Gaussians without sampling.

    ``epsilon_exact`` is that of Gaussian differential privacy, ``epsilon_zcdp`` the simple conversion of the summed rho;
    each is at delta 1e-5.
    """
    multipliers = [
        event.noise_multiplier
        for event in events
        if isinstance(event, GaussianEvent) and event.noise_multiplier > 0 and getattr(event, "rate", 1.0) == 1
    ]
    if not events or len(multipliers) < len(events):
        return None
    whole = composed_multiplier(multipliers)
    return {
        "noise_multiplier": whole,
        "rho": zcdp(whole),
        "epsilon_zcdp": zcdp_epsilon(zcdp(whole), delta=1e-5),
        "epsilon_exact": gaussian_epsilon(whole, delta=1e-5),
    }
