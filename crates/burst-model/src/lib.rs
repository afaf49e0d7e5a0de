//! The pure half of burst-metrics: from Kubernetes answers to burst headers, with no host, no clock and no IO.
#![forbid(unsafe_code)]
