# Sourced by slurm_train.sh and slurm_test.sh. `slurm_run PARTITION JOB_NAME
# SCRIPT [ARGUMENTS]` runs a script of this folder as a job step:
#
#   GPUS           processes, one a GPU, by default 8
#   GPUS_PER_NODE  by default all of them, at most 8
#   CPUS_PER_TASK  by default 5
#   SRUN_ARGS      more options of srun, split at spaces
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GPUS=${GPUS:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-$((GPUS < 8 ? GPUS : 8))}

slurm_run() {
    PYTHONPATH="$TOOLS/..${PYTHONPATH:+:$PYTHONPATH}" \
    exec srun -p "$1" \
        --job-name="$2" \
        --gres="gpu:$GPUS_PER_NODE" \
        --ntasks="$GPUS" \
        --ntasks-per-node="$GPUS_PER_NODE" \
        --cpus-per-task="${CPUS_PER_TASK:-5}" \
        --kill-on-bad-exit=1 \
        $SRUN_ARGS \
        "${PYTHON:-python}" -u "$TOOLS/$3" "${@:4}" --launcher=slurm
}
