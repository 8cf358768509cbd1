from __future__ import annotations

import os
import sys
from pathlib import Path

# The tests send nothing about their runs to anybody.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
sys.path[:0] = [str(Path(__file__).parents[1] / "examples" / name) for name in ("flower_sklearn", ".")]
