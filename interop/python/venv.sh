# Sourced by interop/run and interop/lint, at the root of the repository: makes
# interop/.venv, anew whenever the requirements or the Python have changed. Installs Debian's
# python3-venv if that is missing and may be installed.

python="${PYTHON:-python3}"
requirements=interop/python/requirements.txt
older_requirements=interop/python/older/requirements.txt

usable() {
    "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

if ! usable && [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    echo "interop: installing python3-venv" >&2
    apt-get update -qq && apt-get install -qq -y python3-venv >/dev/null
fi
if ! usable; then
    echo "interop: needs Python 3.10 or newer with \`venv\`, as \`python3\` or its path in PYTHON;" \
        "on Debian: apt install python3-venv" >&2
    exit 1
fi

wanted="$("$python" -VV; cat "$requirements" "$older_requirements")"
if [[ "$(cat interop/.venv/wanted 2>/dev/null)" != "$wanted" ]]; then
    rm -rf interop/.venv
    "$python" -m venv interop/.venv
    pip_install=(interop/.venv/bin/pip install --quiet --disable-pip-version-check)
    if ! "${pip_install[@]}" -r "$requirements" ||
        ! "${pip_install[@]}" --no-deps --target interop/.venv/older -r "$older_requirements"; then
        echo "interop: pip cannot install the Python SDK: see above, and whether its index can" \
            "be reached" >&2
        exit 1
    fi
    printf '%s' "$wanted" >interop/.venv/wanted
fi
