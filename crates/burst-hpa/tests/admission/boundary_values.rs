//! Values that are invalid, or barely valid: lengths at their limits, characters at the edges.

/// 63 characters, as many as a label may have.
const L63: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// One more.
const L64: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// 253 characters, as many as a DNS subdomain may have.
const L253: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
/// One more.
const L254: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

pub(crate) const NAMES: &[&str] = &[
    "", "-", "-a", "a-", "A", "a_b", "a..b", ".a", "ä", "a/b", "a b", "-a-", L64, L253, L254,
];
pub(crate) const LABELS: &[&str] = &["", "-a", "a-", "A", "a.b", "a_b", "a b", L63, L64];
pub(crate) const KEYS: &[&str] = &[
    "",
    "a b",
    "-a",
    "a-",
    "/a",
    "a/",
    "A/a",
    "a/b/c",
    "_",
    "a.b_c/D-e",
    "Ä",
    "k8s.io/",
    "kubernetes.io/a",
    L63,
    L64,
];
pub(crate) const VALUES: &[&str] = &["a b", "-", "a/b", "_a", "ä", L63, L64];
pub(crate) const SEGMENTS: &[&str] = &["", ".", "..", "...", "a/b", "a%b", "%/", "/"];
pub(crate) const TIMES: &[&str] = &[
    "",
    "now",
    "2026-11-21",
    "2026-02-30T00:00:00Z",
    "2026-11-21T05:59:00",
    "2026-11-21T05:59:60Z",
];
pub(crate) const RESOURCES: &[&str] = &[
    "",
    "storage",
    "pods",
    "ephemeral-storage",
    "No Such!",
    "CPU",
    "cpu ",
    "gpu",
    "hugepages-",
    "requests.hugepages-2Mi",
    "requests.cpu",
    "requests.example.com/gpu",
    "kubernetes.io/x",
    "a.kubernetes.io/x",
    "/x",
    "a/b/c",
    "a/",
    "services.nodeports",
    "example.com/ggggggggggggggggggggggggggggggggggggggggggggggggggggggg",
    "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.com/gpu",
    L63,
    L64,
];
