use super::*;

#[test]
fn only_a_client_that_names_html_gets_the_page() {
    for (accept, expected) in [
        ("text/html", true),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
        ("application/json, Text/HTML; charset=utf-8", true),
        ("text/html;q=0.1", true),
        ("*/*", false),
        ("text/*", false),
        ("application/json", false),
        ("text/html;q=0", false),
        ("text/html; q=0.000, */*", false),
        ("text/htmlx", false),
        ("", false),
    ] {
        assert_eq!(accepts_html(accept.as_bytes()), expected, "{accept:?}");
    }
}

#[test]
fn the_page_has_its_style_and_script_and_names_nothing_else() {
    assert!(PAGE.starts_with("<!DOCTYPE html>") && PAGE.trim_end().ends_with("</html>"));
    assert_eq!(
        [PAGE.matches("<style>").count(), PAGE.matches("<script").count()],
        [1, 1]
    );
    assert!(!PAGE.contains("{style}") && !PAGE.contains("{script}"));
    let namespace = "http://www.w3.org/2000/svg";
    let elsewhere = PAGE.replace(namespace, "");
    for external in [
        "//www",
        "http:",
        "https:",
        " src=",
        "url(",
        "@import",
        "innerHTML",
        "eval(",
    ] {
        assert!(!elsewhere.contains(external), "{external}");
    }
}

#[test]
fn the_policy_allows_only_the_page_itself() {
    let (hashes, fixed): (Vec<&str>, Vec<&str>) = POLICY.split("; ").partition(|part| part.contains("'sha256-"));
    let names: Vec<_> = hashes.iter().filter_map(|hash| hash.split(' ').next()).collect();
    assert_eq!(names, ["script-src", "style-src"], "{POLICY}");
    let expected = [
        "default-src 'none'",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ];
    assert_eq!(fixed, expected);
}
