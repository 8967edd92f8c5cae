# Sourced by interop/run and interop/lint, at the root of the repository: makes
# interop/.venv, anew whenever the requirements or the Python have changed.

python="${PYTHON:-python3}"
requirements=interop/python/requirements.txt

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "interop: needs Python 3.10 or newer as \`python3\`, or its path in PYTHON" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "interop: Python has no \`venv\`; on Debian: apt install python3-venv" >&2
    exit 1
fi

wanted="$("$python" -VV; cat "$requirements")"
if [[ "$(cat interop/.venv/wanted 2>/dev/null)" != "$wanted" ]]; then
    rm -rf interop/.venv
    "$python" -m venv interop/.venv
    interop/.venv/bin/pip install --quiet --disable-pip-version-check -r "$requirements"
    printf '%s' "$wanted" >interop/.venv/wanted
fi
