#!/usr/bin/env bash
# Train on a Slurm cluster; slurm_env.sh lists the variables it takes:
#   GPUS=8 tools/slurm_train.sh PARTITION JOB_NAME CONFIG WORK_DIR \
#       [OPTIONS OF tools/train.py]
set -e
USAGE="usage: $0 PARTITION JOB_NAME CONFIG WORK_DIR \
[OPTIONS OF tools/train.py]"
case $1 in -h|--help) echo "$USAGE"; exit ;; esac
if [ $# -lt 4 ]; then
    echo "$USAGE" >&2
    exit 2
fi
. "$(dirname "${BASH_SOURCE[0]}")/slurm_env.sh"
slurm_run "$1" "$2" train.py "$3" --work-dir="$4" "${@:5}"
