//! The promises of the filter, and whether they held.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::LIMIT;
use crate::load::{CONNECTIONS, Tally};
use crate::memory::Growth;

/// A tick notices that the snapshot is stale, a header has whole seconds, and the machine is busy.
pub(crate) const SLACK: Duration = Duration::from_secs(4);

/// The growth that an allocator causes by itself.
const MAX_GROWTH: u64 = 8 << 20;

/// The results of a run.
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) length: Duration,
    pub(crate) tally: Tally,
    pub(crate) faults: Vec<(&'static str, u64)>,
    pub(crate) memory: Growth,
    /// VMs that trapped.
    pub(crate) dead: u64,
    pub(crate) swaps: u64,
}

/// A row: the claim, the limit, the measured value, and whether it is within the limit.
type Promise = (&'static str, String, String, bool);

impl Report {
    fn promises(&self) -> Vec<Promise> {
        let none = |what, seen: u64| (what, "0".to_owned(), seen.to_string(), seen == 0);
        let tally = &self.tally;
        let (oldest, allowed) = (tally.oldest, LIMIT + SLACK);
        let growth = self.memory.bytes();
        // A change of the configuration closes idle connections.
        let closed = self.swaps * CONNECTIONS as u64;
        vec![
            none("responses changed in status or body", tally.changed),
            none("requests without a response", tally.broken),
            (
                "closed just then, and asked again",
                closed.to_string(),
                tally.again.to_string(),
                tally.again <= closed,
            ),
            none("answers that the filter may not give", tally.odd),
            none("VMs that died", self.dead),
            (
                "age of a header, s",
                allowed.as_secs().to_string(),
                format!("{:.1}", oldest.as_secs_f32()),
                oldest <= allowed,
            ),
            (
                "memory gained after the warm-up, MiB",
                mebibytes(MAX_GROWTH),
                mebibytes(growth),
                growth <= MAX_GROWTH,
            ),
        ]
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.promises().iter().all(|(.., kept)| *kept)
    }

    pub(crate) fn print(&self) {
        let Self {
            seed, tally, memory, ..
        } = self;
        println!("soak of {} s, BURST_SEED={seed}", self.length.as_secs());
        println!("{:<40} {:>10} {:>10}", "", "at most", "seen");
        for (what, allowed, seen, kept) in self.promises() {
            let broken = if kept { "" } else { "  BROKEN" };
            println!("{what:<40} {allowed:>10} {seen:>10}{broken}");
        }
        println!("{:<40} {:>21}", "requests", tally.requests);
        println!("{:<40} {:>21}", "of them with a header", tally.with_header);
        let memory = [memory.warm_bytes, memory.end_bytes].map(mebibytes).join(" → ");
        println!("{:<40} {memory:>21}", "resident memory, MiB");
        for (what, count) in &self.faults {
            println!("{:<40} {count:>21}", format!("fault: {what}"));
        }
        if let Some(first) = &tally.first {
            println!("the first of what should not be: {first}");
        }
    }

    /// Writes `bench/soak.json` to the target directory. `temporary` is the program's `CARGO_TARGET_TMPDIR`.
    pub(crate) fn keep(&self, temporary: &str) {
        let folder = Path::new(temporary).with_file_name("bench");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("soak.json");
        let text = serde_json::to_vec_pretty(&self.json()).expect("JSON");
        std::fs::write(&file, text).expect("a file");
        println!("kept in {}", file.display());
    }

    fn json(&self) -> Value {
        let promises = self.promises().into_iter();
        let row = |(what, allowed, seen, kept)| json!({"what": what, "allowed": allowed, "seen": seen, "kept": kept});
        json!({
            "seed": self.seed,
            "seconds": self.length.as_secs(),
            "promises": promises.map(row).collect::<Vec<_>>(),
            "requests": self.tally.requests,
            "with_header": self.tally.with_header,
            "memory": self.memory,
            "faults": self.faults.iter().map(|(what, count)| json!({"what": what, "count": count})).collect::<Vec<_>>(),
            "configurations": self.swaps,
        })
    }
}

/// With one decimal.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{}.{}", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20)
}
