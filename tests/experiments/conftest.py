"""Lets the tests of this folder, and the processes they start, import `crashing`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
