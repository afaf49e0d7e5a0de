# shellcheck shell=bash
# What the scripts of this folder share: where parts are kept, how they speak, how a part comes into being.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=setup/versions.env
source "$repository/setup/versions.env"

cache=${BURST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/burst-metrics}

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

die() {
    say "$@"
    exit 1
}

need() {
    local command=$1 remedy=$2
    command -v "$command" >/dev/null || die "\`$command\` is not on PATH: $remedy"
}

# Makes $staging, a folder beside the cache's parts that goes away with the script, whatever ends it.
# Parts are built there and renamed when they are whole: an interrupted build leaves nothing half-made.
make_staging() {
    mkdir -p "$cache"
    [ -n "${staging:-}" ] || staging=$(mktemp -d "$cache/.staging-XXXXXX")
    trap 'stop_job; rm -rf "$staging"' EXIT
    trap 'exit 130' INT TERM
}

# A background job does not see Ctrl-C. With job control it has a process group, so its children can be ended too.
# It is waited for: what it still wrote would be left behind.
stop_job() {
    [ -z "${job:-}" ] || kill -- "-$job" 2>/dev/null || true
    wait
}

# Two scripts may build the same part at once: the first to finish wins, and the other's work is thrown away.
keep() {
    local built=$1 part=$2
    mv --no-target-directory "$built" "$part" 2>/dev/null || [ -d "$part" ] || die "cannot move the built part to $part"
}

# Runs a long command with its output in a log, and a line every half minute so that nobody thinks it hangs.
run_long() {
    local what=$1 log=$staging/log started=$SECONDS
    shift
    say "$what ..."
    set -m
    "$@" </dev/null >"$log" 2>&1 &
    job=$!
    set +m
    while kill -0 "$job" 2>/dev/null; do
        sleep 1
        (((SECONDS - started) % 30 != 29)) || say "$what ... $((SECONDS - started)) s"
    done
    wait "$job" || {
        tail -n 40 "$log" >&2
        die "$what failed; its last lines stand above"
    }
    job=
    say "$what: done in $((SECONDS - started)) s"
}

# Installs a program of a crate as a part, always by a lock: cargo_tool PROGRAM VERSION [WHERE THE CRATE IS]. The tools run
# for seconds, so their compile time counts for more than their speed: no link-time optimization.
cargo_tool() {
    local program=$1 version=$2 part=$cache/$1-$2
    shift 2
    [ $# -gt 0 ] || set -- --version "$version" "$program"
    if [ ! -d "$part" ]; then
        need cargo "install Rust with rustup"
        make_staging
        run_long "compiling $program $version" \
            env CARGO_TARGET_DIR="$staging/target" CARGO_PROFILE_RELEASE_LTO=off \
            CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
            cargo install --locked --root "$staging/$program" "$@"
        keep "$staging/$program" "$part"
    fi
    [[ $("$part/bin/$program" --version) == *" $version"* ]] ||
        die "$part is not $program $version; remove it and run this again"
    say "$program $version is there"
}
