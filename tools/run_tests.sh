#!/usr/bin/env bash
# Set up what is missing and run the tests:
#   tools/run_tests.sh [--stack NAME] [--lint] [OPTIONS OF pytest]
# --stack tests other releases than the default's, those of a line of
# stacks.sh. --lint checks the style of the code too. The variables that choose
# the environment are listed in setup_env.sh. The tests run side by side, a
# process of one thread on each core; `-n 0` runs them one after the other.
set -u
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TORCH_INDEX_URL=${TORCH_INDEX_URL:-}

lint=
while true; do
    case ${1:-} in
        --stack) STACK=${2:-} && shift 2 || shift ;;
        --stack=*) STACK=${1#*=} && shift ;;
        --lint) lint=yes && shift ;;
        *) break ;;
    esac
done
. "$TOOLS/setup_env.sh"

run_lint() {
    local status=0 tool
    for tool in "flake8" "isort --check-only" "codespell_lib"; do
        # Unquoted: a tool and its options.
        "$ENV_PYTHON" -m $tool mmstepnet tools tests configs benchmarks \
            campaigns docs setup.py || status=1
    done
    "$ENV_PYTHON" -m mypy || status=1
    return $status
}

SECONDS=0
setup_env tests,docs
cd "$REPO" || exit 1
failed=
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
"$ENV_PYTHON" -m pytest -n auto --dist loadfile "$@" || failed="tests"
[ -z "$lint" ] || run_lint || failed="${failed:+$failed and }style"
took="$((SECONDS / 60)) min $((SECONDS % 60)) s"
if [ -n "$failed" ]; then
    echo "FAILED: $failed, after $took" >&2
    exit 1
fi
echo "OK: all passed in $took"
