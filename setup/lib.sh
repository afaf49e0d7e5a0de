# shellcheck shell=bash
# Shared by the scripts of this folder: the cache of parts, messages, and how a part is built.

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

# Makes $staging, a folder in the cache that is removed when the script ends for any reason. A part is built there and
# renamed when it is complete, so an interrupted build leaves no incomplete part.
make_staging() {
    mkdir -p "$cache"
    [ -n "${staging:-}" ] || staging=$(mktemp -d "$cache/.staging-XXXXXX")
    trap 'stop_job; rm -rf "$staging"' EXIT
    trap 'exit 130' INT TERM
}

# Ends the background job of run_long and its children: the job has its own process group, so Ctrl-C does not reach it.
# Waits up to 10 s for all of them, because a child could still write to $staging after the job itself has ended.
stop_job() {
    local tries=100
    if [ -n "${job:-}" ] && kill -- "-$job" 2>/dev/null; then
        while kill -0 -- "-$job" 2>/dev/null && ((tries-- > 0)); do sleep 0.1; done
    fi
    wait
}

# Moves a complete part into the cache. If two scripts build the same part at once, the first to finish wins.
keep() {
    local built=$1 part=$2
    mv --no-target-directory "$built" "$part" 2>/dev/null || [ -d "$part" ] || die "cannot move the built part to $part"
}

# Runs a long command: run_long DESCRIPTION COMMAND... Its output goes to a log, and a line every 30 s shows progress.
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
        die "$what failed; the last lines of its output are above"
    }
    job=
    say "$what: done in $((SECONDS - started)) s"
}

# Installs a program of a crate as a part, always by a lock file: cargo_tool PROGRAM VERSION [SOURCE OF THE CRATE]. The
# programs run for seconds, so compile time matters more than speed: no link-time optimization.
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
    say "$program $version is installed"
}

# Runs `go build` or `go test -c` in a module: go_compile MODULE COMMAND... Every Go part is compiled with these flags, so
# that Go's build cache holds each package once: no debug information, no paths of this machine, and a compiler that takes
# more memory to collect garbage less often.
go_compile() {
    local module=$1
    shift
    GOGC=${GOGC:-300} GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false -gcflags=all=-dwarf=false" go -C "$module" "$@"
}

# As Istio's own builds do: without the validation code that Envoy's API has for each message.
# shellcheck disable=SC2034
istio_tags=disable_pgv
