#!/usr/bin/env bash
# Train with torchrun, on GPUs or on as many CPU processes:
#   tools/dist_train.sh CONFIG GPUS [OPTIONS OF tools/train.py]
# Several machines: set NNODES, NODE_RANK, MASTER_ADDR and PORT, GPUS being
# those of one machine. PYTHON chooses the interpreter.
set -e
USAGE="usage: $0 CONFIG GPUS [OPTIONS OF tools/train.py]"
case $1 in -h|--help) echo "$USAGE"; exit ;; esac
if [ $# -lt 2 ]; then
    echo "$USAGE" >&2
    exit 2
fi
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

PYTHONPATH="$TOOLS/..${PYTHONPATH:+:$PYTHONPATH}" \
exec "${PYTHON:-python}" -m mmstepnet.engine.launch "$2" \
    "$TOOLS/train.py" "$1" --launcher pytorch "${@:3}"
