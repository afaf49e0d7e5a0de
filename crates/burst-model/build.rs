//! Joins the live page from its files, and writes the content security policy that allows exactly its style and its script.
//! `src/serve/page.rs` includes both.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::{env, fs, io};

const FOLDER: &str = "src/serve/page";

/// The parts of the script, in the order in which they run. They share one scope.
const SCRIPTS: [&str; 6] = [
    "rows.js",
    "history.js",
    "drawing.js",
    "table.js",
    "connection.js",
    "main.js",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FOLDER}");
    let style = read("page.css")?;
    let script = SCRIPTS.map(read).into_iter().collect::<io::Result<String>>()?;
    let page = read("page.html")?
        .replace("{style}", &style)
        .replace("{script}", &script);
    let output = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("Cargo sets OUT_DIR"))?;
    let output = Path::new(&output);
    fs::write(output.join("page.html"), page)?;
    fs::write(output.join("page-policy.txt"), policy(&style, &script))
}

/// Reads a file of the page without its indentation, its empty lines and its lines of comment, which only make the module
/// larger.
fn read(name: &str) -> io::Result<String> {
    let text = fs::read_to_string(Path::new(FOLDER).join(name))?;
    let lines = text.lines().map(str::trim);
    let kept = lines.filter(|line| !line.is_empty() && !is_comment(line));
    Ok(kept.flat_map(|line| [line, "\n"]).collect())
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"))
}

/// The value of `content-security-policy`. <https://www.w3.org/TR/CSP3/>
fn policy(style: &str, script: &str) -> String {
    let [style, script] = [style, script].map(|text| STANDARD.encode(Sha256::digest(text)));
    [
        "default-src 'none'",
        &format!("script-src 'sha256-{script}'"),
        &format!("style-src 'sha256-{style}'"),
        // The icon in the page. Without it a browser asks the host for /favicon.ico.
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    .join("; ")
}
