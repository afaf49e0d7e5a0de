//! The recorded API server: each path that the leader asks for, and the answer that came.

/// A status and a body.
pub(crate) type Answer = (u16, &'static [u8]);

macro_rules! recorded {
    ($file:literal) => {
        include_bytes!(concat!("../../golden/kubernetes/", $file))
    };
}

/// The answer to a path; that for HPAs is of the file of that name.
pub(crate) fn answer(path: &str, hpas: &str) -> Answer {
    let resource = path.split('?').next().and_then(|path| path.rsplit('/').next());
    match resource {
        Some("horizontalpodautoscalers") => match hpas {
            "hpas-fresh.json" => (200, recorded!("hpas-fresh.json")),
            "hpas.json" => (200, recorded!("hpas.json")),
            _ => (403, recorded!("403.json")),
        },
        Some("services") if path.contains("&continue=") => (200, recorded!("services-page-2.json")),
        Some("services") => (200, recorded!("services-page-1.json")),
        Some("deployments") => (200, recorded!("deployments.json")),
        Some("statefulsets") => (200, recorded!("statefulsets.json")),
        _ => (404, recorded!("404.txt")),
    }
}
