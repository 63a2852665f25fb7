#!/usr/bin/env bash
# Test with torchrun, on GPUs or on as many CPU processes:
#   tools/dist_test.sh CONFIG CHECKPOINT GPUS [OPTIONS OF tools/test.py]
# The environment variables are those of dist_train.sh.
set -e
USAGE="usage: $0 CONFIG CHECKPOINT GPUS [OPTIONS OF tools/test.py]"
case $1 in -h|--help) echo "$USAGE"; exit ;; esac
if [ $# -lt 3 ]; then
    echo "$USAGE" >&2
    exit 2
fi
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

PYTHONPATH="$TOOLS/..${PYTHONPATH:+:$PYTHONPATH}" \
exec "${PYTHON:-python}" -m mmstepnet.engine.launch "$3" \
    "$TOOLS/test.py" "$1" "$2" --launcher pytorch "${@:4}"
