//! Random documents that contain the hard parts of YAML.

use fastrand::Rng;

const SOUND: [&str; 13] = [
    "a: 1\nb: text\n",
    "a:\n  b: 1\n  c: [1, x, {d: e}]\n",
    "- 1\n- a: b\n  c: d\n- [x, y]\n",
    "a: 'one two'\nb: \"three \\n four\"\n",
    "a: |\n  one\n  two\nb: >-\n  three\n  four\n",
    "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n",
    "a: one\n  two\n  three\nb: 4\n",
    "{a: 1, b: [2, 3], c: {d: 'e'}}\n",
    "? a\n: 1\n? b\n: - 2\n",
    "# c\na: 1 # d\n# e\nb: 2\n",
    "a: !!str 1\nb: !!int '2'\nc: !x 3\n",
    "# c\n---\na: 1\n---\n# d\n--- # e\nb: |\n  two\n---\n",
    "spec:\n  metrics:\n  - type: Resource\n    resource: {name: cpu}\n",
];

const PARTS: [&str; 74] = [
    " ",
    "  ",
    "\t",
    "\n",
    "\n\t",
    "\n \t",
    "\t\n",
    "\n\n",
    "\r\n",
    "\r",
    ":",
    ": ",
    ":\t",
    " :",
    "-",
    "- ",
    "-\t",
    " - ",
    "?",
    "? ",
    "?\t",
    ",",
    ", ",
    ",\t",
    "[",
    "]",
    "{",
    "}",
    "[]",
    "{}",
    "[-]",
    "'",
    "\"",
    "''",
    "\\",
    "\\/",
    "\\n",
    "\\x41",
    "\\u00e9",
    "#",
    " # c",
    "\t# c",
    "\n\t# c\n",
    "&x ",
    "*x",
    "!!str ",
    "!!binary aGk=",
    "!!float ",
    "!!null ",
    "!",
    "|",
    ">",
    "|\n  ",
    "|2\n",
    "\n...\n",
    "---",
    "\n---\n",
    "\n--- # c\n",
    "\n--- ",
    "%",
    "@",
    "`",
    "~",
    "<<: ",
    "010",
    "0x1F",
    "1e3",
    "on",
    "=",
    "é",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{7}",
];

pub(crate) fn document(rng: &mut Rng) -> String {
    let mut text = SOUND[rng.usize(0..SOUND.len())].to_owned();
    for _ in 0..rng.usize(1..4) {
        let mut positions: Vec<usize> = text.char_indices().map(|(position, _)| position).collect();
        positions.push(text.len());
        let position = positions[rng.usize(0..positions.len())];
        let part = PARTS[rng.usize(0..PARTS.len())];
        match rng.u8(0..4) {
            0 if position < text.len() => drop(text.remove(position)),
            _ => text.insert_str(position, part),
        }
    }
    text
}
