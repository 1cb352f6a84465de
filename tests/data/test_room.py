from __future__ import annotations

import subprocess
import sys

import sordino.data


def test_names_and_options_need_neither_torch_nor_espeak() -> None:
    code = (
        "import sys\n"
        "import sordino.data as data\n"
        "data.CORPORA.names(), data.PARTITIONS.names()\n"
        "print(sorted({'torch', 'transformers', 'espeakng_loader'} & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert sorted(set(sordino.data.__all__)) == sorted(sordino.data.__all__)
    for name in sordino.data.__all__:
        assert getattr(sordino.data, name) is not None
