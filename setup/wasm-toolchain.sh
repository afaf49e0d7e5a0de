# shellcheck shell=bash
# Which toolchain compiles to wasm32-unknown-unknown here. Looked up each time, so no record of it can go stale.

wasm_target=wasm32-unknown-unknown

# The cargo on PATH, where its compiler has the target's standard library.
own_toolchain() {
    local library
    [ "${BURST_WASM_TOOLCHAIN:-}" != debian ] || return 1
    library=$(rustc --print target-libdir --target "$wasm_target" 2>/dev/null) || return 1
    compgen -G "$library/libstd-*.rlib" >/dev/null
}

# Debian's rustc-web, which compiles the standard library from rust-web-src.
debian_toolchain() {
    local sysroot
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] || return 1
    sysroot=$(/usr/bin/rustc --print sysroot)
    [ -f "$sysroot/lib/rustlib/src/rust/library/std/Cargo.toml" ] && wasm_linker >/dev/null
}

# The linker of a rustup toolchain is as new as its compiler; Debian's lld is older, and good enough.
wasm_linker() {
    compgen -G "$(rustc --print sysroot)/lib/rustlib/*/bin/rust-lld" || command -v wasm-ld
}

wasm_toolchain() {
    if own_toolchain; then
        rustc --version
    elif debian_toolchain; then
        echo "$(/usr/bin/rustc --version), with the standard library from source"
    else
        return 1
    fi
}
