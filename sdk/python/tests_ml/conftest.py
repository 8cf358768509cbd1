from __future__ import annotations

import os
import sys
from pathlib import Path

# The tests send nothing about their runs to anybody.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
sys.path.insert(0, str(Path(__file__).parents[1] / "examples/flower_sklearn"))
