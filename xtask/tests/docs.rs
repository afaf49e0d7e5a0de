//! The documentation names files that exist.

use burst_testkit::repository;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn contributing_names_paths_that_exist() {
    let text = read(&repository().join("CONTRIBUTING.md"));
    let paths: Vec<_> = inline_code(&text).into_iter().filter(|code| is_path(code)).collect();
    assert!(paths.len() > 50, "{paths:?}");
    let missing: Vec<_> = paths.iter().filter(|path| !repository().join(path).exists()).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md: no such file: {missing:#?}");
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading() {
    let pages = pages(repository());
    assert!(pages.len() > 15, "{pages:?}");
    let broken: Vec<_> = pages.iter().flat_map(|page| broken_links(page)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_tests_that_the_guide_for_operators_names_exist() {
    let text = read(&repository().join("docs/operating.md"));
    let sources = inline_code(&text)
        .into_iter()
        .filter(|code| code.starts_with("tests/") && code.ends_with(".rs"));
    let sources: Vec<_> = sources.map(|path| read(&repository().join(path))).collect();
    assert!(sources.len() > 5, "{}", sources.len());
    let is_stat = |code: &str| code.starts_with("burst_");
    let is_name =
        |code: &&str| code.len() > 40 && !is_stat(code) && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names: Vec<_> = inline_code(&text).into_iter().filter(is_name).collect();
    assert!(names.len() > 2, "{names:?}");
    for name in names {
        let definition = format!("fn {name}(");
        assert!(sources.iter().any(|source| source.contains(&definition)), "{name}");
    }
}

/// All Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let shown = entries.filter(|entry| {
        let name = entry.file_name();
        name != "target" && !name.to_string_lossy().starts_with('.')
    });
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in shown {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The links of a page to other files, or to its own headings, that lead nowhere.
fn broken_links(page: &Path) -> Vec<String> {
    let text = read(page);
    let is_broken = |link: &&str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match file {
            "" => page.to_owned(),
            file => page.with_file_name(file),
        };
        !target.exists() || !(heading.is_empty() || anchors(&read(&target)).iter().any(|anchor| anchor == heading))
    };
    let links = links(&text).into_iter().filter(is_broken);
    links.map(|link| format!("{}: {link}", page.display())).collect()
}

/// The links of a page that are relative paths.
fn links(text: &str) -> Vec<&str> {
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .filter(|target| !target.contains("://"))
        .collect()
}

/// The anchors that GitHub gives the headings of a page.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    titles
        .map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect()
}

/// The texts between backticks.
fn inline_code(text: &str) -> Vec<&str> {
    prose(text)
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns whether a text between backticks is a path of the repository, and not a command or a path of a URL.
fn is_path(code: &str) -> bool {
    let is_named = [".rs", ".md", ".toml", ".env"].iter().any(|end| code.ends_with(end));
    (code.contains('/') || is_named) && !code.starts_with('/') && !code.contains(char::is_whitespace)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
