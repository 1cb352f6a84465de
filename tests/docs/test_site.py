"""The site builds without a warning, shows all that the code offers, and asks no other server for anything."""

from __future__ import annotations

import dataclasses
import html
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import griffe
import pytest
from blocks import ROOT

from sordino.data import CORPORA, PARTITIONS, SOURCES
from sordino.experiments import FederatedExperiment
from sordino.federated import METHODS, FederatedOptions
from sordino.models import CONNECTORS, ModelOptions
from sordino.privacy import ALLOCATIONS, COHORTS, PrivacyOptions
from sordino.reporting.trackers import TRACKERS

PACKAGES = ("data", "evaluation", "experiments", "federated", "models", "privacy", "reporting")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return folder


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_tables_hold_everything_that_is_registered(site: Path) -> None:
    shown = {
        "concepts/allocations.html": (ALLOCATIONS,),
        "concepts/cohorts.html": (COHORTS,),
        "how-to/own-corpus.html": (SOURCES,),
        "how-to/own-model.html": (CONNECTORS,),
        "how-to/track.html": (TRACKERS,),
        "reference/configuration.html": (ALLOCATIONS, COHORTS, CONNECTORS, CORPORA, METHODS, PARTITIONS),
    }
    for name, registries in shown.items():
        text = text_of(site / name)
        for registry in registries:
            for member, kind in registry:
                assert member in text, f"{name} lacks {member}"
                assert all(field.name in text for field in dataclasses.fields(kind)), (
                    f"{name} lacks options of {member}"
                )


@pytest.mark.slow
def test_every_key_stands_in_the_reference_with_its_help(site: Path) -> None:
    text = text_of(site / "reference" / "configuration.html")
    kinds: tuple[Any, ...] = (FederatedExperiment, FederatedOptions, ModelOptions, PrivacyOptions)
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert field.name in text
            assert field.metadata["help"].rstrip(".")[1:] in text


@pytest.mark.slow
def test_nothing_is_left_unreplaced_or_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        source = page.read_text(encoding="utf-8")
        assert not re.search(r"<!-- (family|experiment|help):", source), page
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?([^\"' >]+)", source)
        assert not [target for target in loaded if re.match(r"(https?:)?//", target)], page


def test_every_public_name_says_what_it_is() -> None:
    sordino = griffe.load("sordino", search_paths=[ROOT / "src"], resolve_aliases=True)
    packages = [sordino[package] for package in PACKAGES]
    assert all(package.exports for package in packages)
    public = {f"{package.path}.{name}": package[str(name)] for package in packages for name in package.exports}
    assert not [name for name, member in public.items() if not member.docstring], "these have no docstring"
