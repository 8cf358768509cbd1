#!/usr/bin/env bash
# Brings Node 24 from the npm registry into .cache when the machine's own is too old. Does nothing when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(bash scripts/node-path.sh)
[ -x "$folder/node" ] && exit 0
package=$(basename "$(dirname "$folder")")
echo "bringing Node 24 ($package) from the npm registry into .cache/node" >&2
mkdir -p .cache/node
npm install --prefix .cache/node --no-save --ignore-scripts --no-progress --loglevel=error "$package@24" >&2
"$folder/node" --version >&2
