# Sourced by interop/run and interop/lint, at the root of the repository: makes
# interop/js/node_modules, anew whenever what is locked or the Node has changed. Installs
# Debian's nodejs and npm if they are missing and may be installed.

usable_node() {
    command -v npm >/dev/null &&
        node -e 'process.exitCode = parseInt(process.versions.node) < 20 ? 1 : 0' 2>/dev/null
}

if ! usable_node && [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    echo "interop: installing nodejs and npm" >&2
    apt-get update -qq && apt-get install -qq -y nodejs npm >/dev/null
fi
if ! usable_node; then
    echo "interop: needs Node.js 20 or newer with \`npm\`; on Debian: apt install nodejs npm" >&2
    exit 1
fi

wanted="$(node --version; cat interop/js/package-lock.json)"
if [[ "$(cat interop/js/node_modules/.wanted 2>/dev/null)" != "$wanted" ]]; then
    if ! (cd interop/js && npm ci --ignore-scripts --silent); then
        echo "interop: npm cannot install the JavaScript SDK: see above, and whether its" \
            "registry can be reached" >&2
        exit 1
    fi
    printf '%s' "$wanted" >interop/js/node_modules/.wanted
fi
