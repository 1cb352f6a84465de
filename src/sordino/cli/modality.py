"""``sordino modality``: certificates of what was withdrawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, print_json, stderr, stdout

__all__ = ["app"]

app = typer.Typer(help="Certify that a modality was withdrawn, and check such a certificate.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command("certify")
def certify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="The certificate; RUN/certificate.json if not given.")
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Write the certificate of a run's withdrawal, and a page to read it on, from the run's records as they are now.

    Example: sordino modality certify runs/emotion
    """
    from sordino.modality.certificate import issue_certificate
    from sordino.records import RunFolder
    from sordino.reporting.certificate import write_certificate_page

    folder, console = RunFolder.open(run), stderr()
    certificate = issue_certificate(folder)
    path = out or run / "certificate.json"
    folder.write_json(path, certificate)
    write_certificate_page(certificate, path.with_suffix(".html"))
    if as_json:
        print_json(certificate)
    console.print(certificate["statement"], soft_wrap=True, markup=False)
    console.print(f"wrote {path} and {path.with_suffix('.html')}", soft_wrap=True, markup=False)


@app.command("verify")
def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="A certificate.json.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run that it is of.")],
    *,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Check a certificate against its run: fingerprints, ledger, figures and mechanism.

    Exits with 1 if anything does not hold.

    Example: sordino modality verify runs/emotion/certificate.json runs/emotion
    """
    from dataclasses import asdict

    from sordino.cli.console import show_table
    from sordino.modality.verification import read_certificate, verify_certificate
    from sordino.records import RunFolder
    from sordino.reporting.tables import Cell, Column, Table

    checks = verify_certificate(read_certificate(certificate), RunFolder.open(run))
    good = all(check.holds for check in checks)
    if as_json:
        print_json({"holds": good, "checks": [asdict(check) for check in checks]})
    rows = [[Cell(check.name), Cell("holds" if check.holds else "FAILS"), Cell(check.found)] for check in checks]
    columns = [Column(title, numeric=False) for title in ("checked", "outcome", "found")]
    verdict = "The certificate holds." if good else "THE CERTIFICATE DOES NOT HOLD for this run."
    show_table(stderr() if as_json else stdout(), Table(name="checks", columns=columns, rows=rows, note=verdict))
    if not good:
        raise typer.Exit(1)
