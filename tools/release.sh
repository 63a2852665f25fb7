#!/usr/bin/env bash
# Build the wheel and the source distribution of the last commit and try both
# in fresh environments. Nothing is uploaded.
#   tools/release.sh [--rehearse] OUT
# --rehearse goes on with changes that are not committed and a changelog
# without the date of the release. PYTHON is the interpreter; the fresh
# environments borrow PyTorch and the mm packages from its environment.
set -euo pipefail
REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=${PYTHON:-python}

fail() {
    echo "error: $*" >&2
    exit 1
}

rehearse=
if [ "${1:-}" = --rehearse ]; then
    rehearse=yes
    shift
fi
[ $# -eq 1 ] || fail "usage: tools/release.sh [--rehearse] OUT"
mkdir -p "$1"
OUT=$(cd "$1" && pwd)
[ -z "$(ls -A "$OUT")" ] || fail "$OUT has files of another release"

need() {
    [ -n "$rehearse" ] || fail "$*"
    echo "rehearsal, a release stops here: $*"
}

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

echo "== sources"
[ -z "$(git -C "$REPO" status --porcelain)" ] ||
    need "there are changes that are not committed"
git clone -q "$REPO" "$WORK/checkout"
cd "$WORK/checkout"
version=$(sed -n "s/^__version__ = '\(.*\)'$/\1/p" mmstepnet/version.py)
grep -q "^version: $version$" CITATION.cff ||
    fail "CITATION.cff is not of version $version"
grep -q "^## $version " CHANGELOG.md ||
    fail "CHANGELOG.md has no section '## $version'"
grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$" CHANGELOG.md ||
    need "CHANGELOG.md has no date for $version"
! git rev-parse -q --verify "refs/tags/v$version" ||
    fail "v$version has been released already"
echo "version $version, commit $(git rev-parse --short HEAD)"

echo "== build"
"$PYTHON" -m venv "$WORK/tools"
"$WORK/tools/bin/pip" install -q build twine
"$WORK/tools/bin/python" -m build --outdir "$OUT" . > "$WORK/build.log" 2>&1 ||
    fail "the build failed: $(tail -n 5 "$WORK/build.log")"
"$WORK/tools/bin/python" -m twine check --strict "$OUT"/*
wheel=$(echo "$OUT"/*.whl) sdist=$(echo "$OUT"/*.tar.gz)

tar -tzf "$sdist" | sed 's,^[^/]*/,,' | sort > "$WORK/packed"
git ls-files mmstepnet configs tools requirements model-index.yml LICENSE |
    sort > "$WORK/expected"
missing=$(comm -13 "$WORK/packed" "$WORK/expected")
[ -z "$missing" ] || fail "the source distribution lacks" $missing
echo "the source distribution has all $(wc -l < "$WORK/expected") files"

borrowed=$("$PYTHON" -c 'import torch, pathlib
print(pathlib.Path(torch.__file__).parents[1])')
try() {
    local env=$WORK/env-${1##*.} python=$WORK/env-${1##*.}/bin/python site
    echo "== try ${1##*/}"
    "$PYTHON" -m venv "$env"
    site=$("$python" -c 'import site; print(site.getsitepackages()[0])')
    echo "$borrowed" > "$site/borrowed.pth"
    "$env/bin/pip" install -q --no-deps --force-reinstall "$1"
    cd "$WORK"
    "$python" - "$site" "$version" <<'PYTHON'
import doctest, importlib, sys
import mmstepnet
site, version = sys.argv[1:]
assert mmstepnet.__file__.startswith(site), mmstepnet.__file__
assert mmstepnet.__version__ == version, mmstepnet.__version__
for name in ('steps.stepnet', 'stiffness.functional', 'backbones.resnet'):
    result = doctest.testmod(importlib.import_module(f'mmstepnet.{name}'))
    assert result.attempted and not result.failed, (name, result)
    print(f'mmstepnet.{name}: {result.attempted} examples')
PYTHON
    "$python" "$site/mmstepnet/.mim/tools/model_zoo.py" --repeats 0 \
        --shape 32 32 --backbones "CIFARResNet(depth=164)" --steps plain StepNet
}
try "$wheel"
try "$sdist"

echo "== release"
if [ -n "$rehearse" ]; then
    echo "this was a rehearsal: commit, date the changelog, run it again"
else
    echo "to publish: git tag v$version && git push --tags &&" \
        "twine upload $wheel $sdist"
fi
