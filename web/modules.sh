# Sourced at the root of the repository: makes web/node_modules, anew whenever what is locked or
# the Node has changed.

if ! node -e 'process.exitCode = parseInt(process.versions.node) < 20 ? 1 : 0' 2>/dev/null ||
    ! command -v npm >/dev/null; then
    echo "web: needs Node.js 20 or newer with \`npm\`; on Debian: apt install nodejs npm" >&2
    exit 1
fi

wanted="$(node --version; cat web/package-lock.json)"
if [[ "$(cat web/node_modules/.wanted 2>/dev/null)" != "$wanted" ]]; then
    # Not `npm ci`: that insists on packages for other systems, which a registry may not have.
    if ! (cd web && npm install --no-save --ignore-scripts --no-audit --no-fund --silent); then
        echo "web: npm cannot install what the canvas is made of: see above, and whether its" \
            "registry can be reached" >&2
        exit 1
    fi
    printf '%s' "$wanted" >web/node_modules/.wanted
fi
