//! The names of functions in a module, for the back-trace of a trap.
//!
//! The compiler's names are mangled, with a hash and all type parameters, and take a tenth of the module. A reader of a trace
//! needs only the last parts of the path. Functions of libraries get no name: the trap's message has the location, and the
//! first of our functions in the trace is the caller.

use rustc_demangle::demangle;

/// The parts that are kept: a module or type, and a function.
const KEPT_SEGMENTS: usize = 2;

/// A closure has the name of the function that contains it.
const CLOSURE: &str = "{{closure}}";

/// The prefix of our packages.
const CRATE_PREFIX: &str = "burst_";

/// Returns the end of the path of one of our functions, without hash and type parameters.
pub(crate) fn short(name: &str) -> Option<String> {
    let path = plain(&format!("{:#}", demangle(name)));
    let counts = |part: &&str| !part.is_empty() && *part != CLOSURE;
    let parts: Vec<_> = path.split("::").filter(counts).collect();
    // A name without a path belongs to a function for the host or the compiler.
    let is_ours = parts.len() == 1 || path.starts_with(CRATE_PREFIX);
    is_ours.then(|| parts[parts.len().saturating_sub(KEPT_SEGMENTS)..].join("::"))
}

/// Removes angle brackets and their contents from a path, but keeps the type of `<Type as Trait>::function`.
fn plain(path: &str) -> String {
    let path = path.trim_start_matches(['&', '*']).trim_start_matches("mut ");
    let Some(inner) = path.strip_prefix('<') else {
        return outside_brackets(path);
    };
    let end = closing(inner);
    let (inner, rest) = (&inner[..end], &inner[end..]);
    let self_type = inner.split(" as ").next().unwrap_or_default();
    plain(self_type) + &outside_brackets(rest.trim_start_matches('>'))
}

fn outside_brackets(path: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = |symbol: char| {
        match symbol {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    path.chars().filter(|symbol| outside(*symbol)).collect()
}

/// Returns the index of the bracket that closes the one before `inside`.
fn closing(inside: &str) -> usize {
    let mut depth = 1_usize;
    let ends = |symbol: char| {
        match symbol {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    inside.find(ends).unwrap_or(inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_path_is_kept() {
        for (mangled, kept) in [
            ("_ZN11burst_model5index4join17h4b58b7da3e7067bdE", "index::join"),
            (
                "_ZN11burst_model6config5check4Kind7written28_$u7b$$u7b$closure$u7d$$u7d$17h79867d57ed2b2666E",
                "Kind::written",
            ),
            (
                "_ZN77_$LT$burst_metrics..root..Root$u20$as$u20$proxy_wasm..traits..RootContext$GT$\
                 7on_tick17hd1a251bbf49843beE",
                "Root::on_tick",
            ),
            ("proxy_on_tick", "proxy_on_tick"),
            ("a<b", "a"),
        ] {
            assert_eq!(short(mangled).as_deref(), Some(kept));
        }
    }

    #[test]
    fn functions_of_libraries_and_unnamed_functions_get_no_name() {
        for name in [
            "_ZN97_$LT$serde_path_to_error..de..TrackedSeed$LT$X$GT$$u20$as$u20$serde_core..de..DeserializeSeed$GT$\
             11deserialize17hc1b9407fe742c8c7E",
            "_RNvXsK_NtCsgXGp5Oqx2Ny_4core3fmtNtB5_5ErrorNtB5_5Debug3fmt",
            "_ZN4core3ptr54drop_in_place$LT$burst_model..kube..object..Object$GT$17h79867d57ed2b2666E",
            "",
            "<",
        ] {
            assert_eq!(short(name), None, "{name}");
        }
    }
}
