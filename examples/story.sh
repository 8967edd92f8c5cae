# What the five stories share: starting programs, showing what is asked and answered, ending.
#
# `run` of each story begins with
#
#   source "$(dirname "$0")/../story.sh"
#   begin "$@"
#
# and needs bash, curl and the program: `nuncio` of the PATH, NUNCIO_BIN, or what cargo has built.

set -uo pipefail

folder=$(cd "$(dirname "$0")" && pwd)
processes=()
step=0

# Reads the command line, finds the program, and makes a folder that is removed at the end.
begin() {
    once=no
    port=${PORT:-$usual_port}
    while [ $# -gt 0 ]; do
        case $1 in
            --once) once=yes ;;
            --port) port=${2:?--port needs a number}; shift ;;
            *) sed -n '2,/^$/s/^# \{0,1\}//p' "$folder/run"; [ "$1" = --help ]; exit ;;
        esac
        shift
    done
    nuncio=${NUNCIO_BIN:-$(command -v nuncio)}
    for built in "$folder"/../../target/{release,debug}/nuncio; do
        [ -z "$nuncio" ] && [ -x "$built" ] && nuncio=$built
    done
    [ -n "$nuncio" ] || fail "there is no nuncio: build it with \`cargo build --release -p nuncio\`"
    command -v curl >/dev/null || fail "the stories need curl"
    home=$(mktemp -d)
    # Nothing of this is to meet a hub or an agent that somebody else has here.
    export XDG_DATA_HOME=$home XDG_CONFIG_HOME=$home
    unset NUNCIO_URL NUNCIO_KEY NUNCIO_CONFIG
    trap end EXIT
    trap 'echo; exit 0' INT TERM
    # Also if nobody reads any more what it says.
    trap 'exit 1' HUP PIPE
}

end() {
    local code=$?
    trap - EXIT
    if [ ${#processes[@]} -gt 0 ]; then
        kill -TERM "${processes[@]}" 2>/dev/null
        sleep 0.2
        # Told twice, programs do not wait for what they have under way.
        kill -TERM "${processes[@]}" 2>/dev/null
        wait "${processes[@]}" 2>/dev/null
    fi
    rm -rf "$home"
    exit "$code"
}

fail() {
    printf 'this did not go as told: %s\n' "$1" >&2
    exit 1
}

# start NAME COMMAND…: starts a program, and waits until it says where it listens: $url.
start() {
    local name=$1
    shift
    : >"$home/$name.log"
    "$@" >"$home/$name.out" 2>"$home/$name.log" &
    local process=$!
    processes+=("$process")
    until url=$(sed -n 's/^listening on //p' "$home/$name.log") && [ -n "$url" ]; do
        kill -0 "$process" 2>/dev/null || fail "$name did not start: $(cat "$home/$name.log")"
        sleep 0.05
    done
}

# hub FILE: starts the hub at $hub, with the administrator's key in $key.
hub() {
    start hub "$nuncio" up --config "$1" --port "$port" --data-dir "$home/hub"
    hub=$url
    key=$(cat "$home/hub/admin.key")
    export NUNCIO_URL=$hub NUNCIO_KEY=$key
}

# call URL NAME: gives the agent at a URL a better name than that of its host, in what was imported.
call() {
    sed -i -E "/- name:/{N;s#name: [^\n]*(\n[^\n]*$1\"?)\$#name: $2\1#}" "$home/nuncio.yaml"
    grep -q "name: $2\$" "$home/nuncio.yaml" || fail "nothing was imported for $1"
}

# tell TEXT…: what happens next.
tell() {
    step=$((step + 1))
    printf '\n%s. %s\n' "$step" "$*"
}

# ask METHOD URL [HEADER…] [-d BODY]: sends a request; it, $status and $answer are shown.
ask() {
    local method=$1 at=$2 body= words=()
    shift 2
    printf '   > %s %s\n' "$method" "$at"
    while [ $# -gt 0 ]; do
        if [ "$1" = -d ]; then
            body=$2
            words+=(-H 'Content-Type: application/json' -d "$body")
            shift
        else
            # Secrets are shown as far as one can tell them apart.
            printf '   > %s\n' "$(sed -E 's/(Bearer [^ ]{12})[^ ]+/\1…/' <<<"$1")"
            words+=(-H "$1")
        fi
        shift
    done
    [ -n "$body" ] && printf '%s\n' "$body" | sed 's/^/   > /'
    answer=$(curl -sS -N --max-time 60 -w '\n%{http_code}' -X "$method" "${words[@]}" "$at") ||
        fail "$method $at"
    status=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    printf '   < %s\n' "$status"
    show
}

# try COMMAND…: types a command of nuncio's; what it prints is $answer.
try() {
    local word line=nuncio
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
    done
    printf '   $ %s\n' "$line"
    answer=$("$nuncio" "$@" 2>&1)
    status=$?
    show
}

show() {
    [ -n "$answer" ] && printf '%s\n' "$answer" | cut -c 1-6000 | sed -E \
        -e 's/("(token|auth_token|enrolment_token)":"[^"]{12})[^"]*/\1…/g' -e 's/^/   < /'
    return 0
}

# expect STATUS TEXT…: what must have come back.
expect() {
    [ "$status" = "$1" ] || fail "expected $1, not $status: $answer"
    shift
    local text
    for text in "$@"; do
        case $answer in *"$text"*) ;; *) fail "expected $text in: $answer" ;; esac
    done
}

# expect_not TEXT: what must not have come back.
expect_not() {
    case $answer in *"$1"*) fail "did not expect $1 in: $answer" ;; esac
}

# member NAME: the first text of that name in $answer.
member() {
    grep -oE "\"$1\" *: *\"[^\"]*\"" <<<"$answer" | head -n 1 | cut -d '"' -f 4
}

# now_you TEXT: the end of the story, and the beginning of the reader's own.
now_you() {
    printf '\nAll of this went as told.\n'
    [ "$once" = yes ] && exit 0
    printf '\nNow you. In another terminal:\n\n'
    printf '  export NUNCIO_URL=%s NUNCIO_KEY=%s\n' "$hub" "$key"
    printf '%s\n' "$1" | sed 's/^/  /'
    printf '\nIn a browser: %s\n' "$("$nuncio" login 2>/dev/null | tail -n 1)"
    printf '\nCtrl-C ends it.\n'
    wait
}
