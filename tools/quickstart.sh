#!/usr/bin/env bash
# Install into .venv, pre-train a small StepNet classifier on handwritten
# digits, train Faster R-CNN on it, and show what it detects:
#   tools/quickstart.sh
# A second run reuses what is there. The variables that choose the environment
# are listed in setup_env.sh.
set -u
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TORCH_INDEX_URL=${TORCH_INDEX_URL:-}
. "$TOOLS/setup_env.sh"

[ $# -eq 0 ] || fail "quickstart.sh takes no arguments, got: $*"
began=$(date +%s)
echo "[1/5] install (about 3 GB to download the first time)"
setup_env
exec "$ENV_PYTHON" "$TOOLS/quickstart/pipeline.py" --began "$began"
