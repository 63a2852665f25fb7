#!/usr/bin/env bash
# Test on a Slurm cluster:
#   GPUS=8 tools/slurm_test.sh PARTITION JOB_NAME CONFIG CHECKPOINT \
#       [OPTIONS OF tools/test.py]
# GPUS_PER_NODE, CPUS_PER_TASK and SRUN_ARGS as in MMDetection.
set -e
if [ $# -lt 4 ]; then
    echo "usage: $0 PARTITION JOB_NAME CONFIG CHECKPOINT" \
        "[OPTIONS OF tools/test.py]" >&2
    exit 2
fi
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GPUS=${GPUS:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-$((GPUS < 8 ? GPUS : 8))}

# SRUN_ARGS is a list of options, split at spaces.
PYTHONPATH="$TOOLS/..${PYTHONPATH:+:$PYTHONPATH}" \
exec srun -p "$1" \
    --job-name="$2" \
    --gres="gpu:$GPUS_PER_NODE" \
    --ntasks="$GPUS" \
    --ntasks-per-node="$GPUS_PER_NODE" \
    --cpus-per-task="${CPUS_PER_TASK:-5}" \
    --kill-on-bad-exit=1 \
    $SRUN_ARGS \
    "${PYTHON:-python}" -u "$TOOLS/test.py" "$3" "$4" \
    --launcher=slurm "${@:5}"
