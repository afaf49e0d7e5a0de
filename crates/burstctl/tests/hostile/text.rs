//! Text that nobody should obey, and what must not be left of it.

use proptest::prelude::*;

/// Begins a line of its own if its line break gets through.
const FORGED: &str = "FORGED";

const PARTS: [&str; 27] = [
    "shop",
    "web-1",
    " ",
    "\u{1b}[31m",
    "\u{1b}[2J",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://a\u{1b}\\",
    "\u{1b}P$q\u{1b}\\",
    "\u{9b}31m",
    "\u{7}",
    "\u{8}",
    "\u{7f}",
    "\t",
    "\r",
    "\nFORGED",
    "\r\nFORGED",
    "\u{b}FORGED",
    "\u{85}FORGED",
    "\u{2028}FORGED",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{61c}",
    "\u{feff}",
    "\n::error file=a::FORGED",
    "::error::",
    "##[add-mask]",
];

/// Some of it, one behind the other.
pub(crate) fn any() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..6).prop_map(|parts| parts.concat())
}

/// All of it.
#[cfg(feature = "live")]
pub(crate) fn all() -> String {
    PARTS.concat()
}

/// What is wrong with printed text, if anything is. `is_data`: an encoder wrote it, so that it may say what it likes in
/// its strings as long as no terminal obeys.
pub(crate) fn fault(printed: &str, is_data: bool) -> Option<String> {
    let obeyed = |character: char| {
        character != '\n'
            && (character.is_control()
                || matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'))
    };
    if let Some(character) = printed.chars().find(|character| obeyed(*character)) {
        return Some(format!("{character:?} in {printed:?}"));
    }
    let is_ours = |line: &str| line.starts_with("::error file=") || line.starts_with("::warning file=");
    let forged = printed.lines().find(|line| {
        let text = line.trim_start();
        text.starts_with(FORGED)
            || text.starts_with("::") && !is_ours(line)
            || line.contains("##[") && !is_data && !is_ours(line)
    });
    forged.map(|line| format!("the line {line:?} in {printed:?}"))
}
