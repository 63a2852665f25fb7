# Sourced by quickstart.sh and run_tests.sh. `setup_env [EXTRA]` finds or makes
# the environment of the stack STACK, installs what is missing, and sets
# ENV_PYTHON.
#
#   VENV             the environment, by default .venv in the repository, and
#                    .venv-STACK for another stack than `onedl`. One that is
#                    there already keeps its releases; only what it lacks is
#                    installed
#   PYTHON           the interpreter that a new environment is made with
#   TORCH_INDEX_URL  where PyTorch comes from, for example
#                    https://download.pytorch.org/whl/cpu
REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STACK=${STACK-onedl}
DEFAULT_VENV=$REPO/.venv
if [ "$STACK" = onedl ]; then
    VENV=${VENV:-$DEFAULT_VENV}
else
    VENV=${VENV:-$REPO/.venv-$STACK}
fi
ENV_PYTHON=$VENV/bin/python
# A new environment carries this folder, which says how far its install got.
STATE=$VENV/.mmstepnet
LOG=$VENV/install.log
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONNOUSERSITE=1

fail() {
    echo "error: $*" >&2
    exit 1
}

. "$REPO/tools/stacks.sh"
choose_stack "$STACK"

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 \
                     python3.10}; do
        if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, 10)
or '$STACK_PYTHON' not in ('', '%d.%d' % sys.version_info[:2]))" \
                2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "Python ${STACK_PYTHON:-3.10 or newer} is needed, found" \
        "$("${PYTHON:-python3}" --version 2>/dev/null || echo none);" \
        "install it, or name it with PYTHON=/path/to/python"
}

check_disk() {
    local needed=9 free
    [ -z "$TORCH_INDEX_URL" ] || needed=3
    free=$(df -Pk "$(dirname "$VENV")" | awk 'NR == 2 {print int($4 / 1e6)}')
    [ "$free" -ge "$needed" ] || fail "the packages need about $needed GB" \
        "of disk, but $(dirname "$VENV") has $free GB left"
}

make_venv() {
    local python
    python=$(find_python) || exit 1
    mkdir -p "$(dirname "$VENV")" || fail "could not make the folder of $VENV"
    check_disk
    "$python" -c 'import ensurepip, venv' 2>/dev/null || fail \
        "$python has no venv module: install it (on Debian and Ubuntu" \
        "'apt-get install python3-venv') or name an environment with VENV"
    mkdir -p "$STATE" && echo $$ > "$STATE/installing"
    echo "making $VENV with $("$python" --version)"
    "$python" -m venv "$VENV" || fail "$python could not make $VENV"
}

# The default environment's packages without mmstepnet and its software family,
# as hard links: seconds in place of gigabytes, where Python and PyTorch are
# those of the stack. pip replaces what doesn't fit, and a replaced file stays
# what it is in the default environment.
link_venv() {
    [ "$STACK" != onedl ] && [ -x "$DEFAULT_VENV/bin/python" ] || return 1
    mkdir -p "$STATE" && echo $$ > "$STATE/installing"
    if "$DEFAULT_VENV/bin/python" - "$VENV" "$STACK_PYTHON" \
            "${TORCH_PINS[@]#*:}" <<'PYTHON'
import os
import re
import sys
import sysconfig
import venv
from importlib.metadata import distributions

target, python, *pins = sys.argv[1:]
releases = {dist.name: dist.version.split('+')[0] for dist in distributions()}
if (python not in ('', sysconfig.get_python_version())
        or any(releases.get(pin.split('==')[0]) != pin.split('==')[1]
               for pin in pins)
        or os.stat(sys.prefix).st_dev != os.stat(target).st_dev):
    sys.exit(1)
venv.create(target, symlinks=os.name != 'nt')
site = sysconfig.get_path('purelib', vars=dict(base=target, platbase=target))
for dist in distributions():
    if re.match('onedl-|mm', dist.name):
        continue
    for file in dist.files or ():
        source = dist.locate_file(file)
        if file.parts[0] != '..' and os.path.isfile(source):
            link = os.path.join(site, file)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            if not os.path.exists(link):
                os.link(source, link)
PYTHON
    then
        echo "making $VENV with the packages of $DEFAULT_VENV"
    else
        rm -rf "$VENV"
        return 1
    fi
}

# The releases of those "import:release" pairs that can't be imported yet.
missing() {
    "$ENV_PYTHON" - "$@" <<'PYTHON'
import sys
from importlib.util import find_spec
pairs = (pair.split(':') for pair in sys.argv[1:])
print(*(release for name, release in pairs if find_spec(name) is None))
PYTHON
}

pip_install() {
    "$ENV_PYTHON" -m pip install --progress-bar off "$@" 2>&1 | tee "$LOG" |
        while IFS= read -r line; do
            case $line in
                Collecting* | Processing* | *Downloading* | Building\ wheels* | \
                    Installing*)
                    echo "    ${line:0:70}" ;;
            esac
        done
    [ "${PIPESTATUS[0]}" -eq 0 ] || explain_pip
}

explain_pip() {
    # pip ended by itself, so that the next run can go on from here.
    rm -f "$STATE/installing"
    if grep -qE 'No space left|Errno 28' "$LOG"; then
        fail "the disk is full: the packages need about 9 GB in $VENV, and" \
            "room for pip's temporary files in ${TMPDIR:-/tmp}"
    fi
    local offline='NewConnectionError|NameResolutionError|ProxyError'
    offline+='|ConnectTimeout|ReadTimeout|unreachable|name resolution'
    if grep -qE "$offline" "$LOG"; then
        fail "pip could not reach the package index: check the network, or" \
            "name another index with PIP_INDEX_URL (see $LOG)"
    fi
    fail "pip could not install the packages:" \
        "$(grep -m 1 '^ERROR' "$LOG" || tail -n 1 "$LOG") (see $LOG)"
}

install_all() {
    local torch pins
    if [ -d "$STATE" ]; then
        torch=${TORCH_PINS[*]#*:} pins=${PINS[*]#*:}
    else
        torch=$(missing "${TORCH_PINS[@]}") pins=$(missing "${PINS[@]}")
    fi
    # Unquoted: a list of releases without spaces.
    [ -z "$torch" ] || pip_install $torch \
        ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"}
    # pip builds mmcv where it sees no PyTorch, so without operators.
    pip_install $torch $pins -e "$REPO${1:+[$1]}"
    [ -z "$COMPILED" ] || compile_mmcv
}

# mmcv's operators, compiled against the PyTorch that is installed: half an
# hour on a core. Its setup.py asks for C++17, the headers of PyTorch 2.14 for
# C++20.
compile_mmcv() {
    [ -n "$(missing "mmcv._ext:yes")" ] || return 0
    local release sources=$VENV/src
    release=$(printf '%s\n' "${PINS[@]#*:}" | grep mmcv)
    echo "compiling the operators of $release"
    rm -rf "$sources"
    pip_install "setuptools<81" wheel ninja
    "$ENV_PYTHON" -m pip download -q --no-deps \
        --no-binary "${release%%==*}" -d "$sources" "$release" \
        && tar -xf "$sources"/*.tar.gz -C "$sources" \
        || fail "could not download the sources of $release"
    sed -i.orig 's/-std=c++17/-std=c++20/' "$sources"/*/setup.py
    MMCV_WITH_OPS=1 MAX_JOBS=${MAX_JOBS:-2} pip_install --no-deps \
        --no-build-isolation --force-reinstall "$sources"/*/
}

# OpenCV asks for libGL, which a server may not have; its headless build
# doesn't.
check_imports() {
    "$ENV_PYTHON" -c 'import cv2' 2>/dev/null || pip_install --no-deps \
        --force-reinstall "opencv-python-headless==$("$ENV_PYTHON" -c \
        'from importlib.metadata import version
print(version("opencv-python"))')"
    "$ENV_PYTHON" -c 'import cv2, torch, torchvision, mmcv, mmstepnet' \
        2>"$LOG.import" || fail "the packages are installed, but can't be" \
        "imported: $(tail -n 1 "$LOG.import")"
}

setup_env() {
    local wanted pid
    wanted="$REPO ${TORCH_PINS[*]} ${PINS[*]} $(cat "$REPO/setup.py" \
        "$REPO"/requirements/*.txt | cksum)"
    trap 'fail "interrupted; the same command starts over"' INT TERM
    if [ -f "$STATE/installing" ]; then
        pid=$(cat "$STATE/installing")
        if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
            fail "process $pid is installing into $VENV: wait for it"
        fi
        echo "$VENV was left half installed: making it anew"
        rm -rf "$VENV"
    fi
    if [ "$wanted" = "$(cat "$STATE/installed${1:+-$1}" 2>/dev/null)" ]; then
        echo "using $VENV"
        return
    fi
    [ -x "$ENV_PYTHON" ] || link_venv || make_venv
    [ ! -d "$STATE" ] || echo $$ > "$STATE/installing"
    install_all "${1:-}"
    check_imports
    if [ -d "$STATE" ]; then
        echo "$wanted" > "$STATE/installed${1:+-$1}"
        rm "$STATE/installing"
    fi
    trap - INT TERM
}
