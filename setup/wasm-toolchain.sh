# shellcheck shell=bash
# Finds the toolchain that compiles to wasm32-unknown-unknown on this machine.

wasm_target=wasm32-unknown-unknown

# Succeeds if the compiler on PATH has the target's standard library.
own_toolchain() {
    local library
    [ "${BURST_WASM_TOOLCHAIN:-}" != debian ] || return 1
    library=$(rustc --print target-libdir --target "$wasm_target" 2>/dev/null) || return 1
    compgen -G "$library/libstd-*.rlib" >/dev/null
}

# Succeeds if Debian's rustc-web is installed, which compiles the standard library from rust-web-src.
debian_toolchain() {
    local sysroot
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] || return 1
    sysroot=$(/usr/bin/rustc --print sysroot)
    [ -f "$sysroot/lib/rustlib/src/rust/library/std/Cargo.toml" ] && wasm_linker >/dev/null
}

# Prints the linker: the one of a rustup toolchain, or Debian's lld.
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
