//! The output formats.

use clap::ValueEnum;

use crate::printer::ObjectFormat;

/// The output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// One YAML document per object.
    Yaml,
}

impl OutputFormat {
    /// Returns the format of objects, or `None` for people.
    #[must_use]
    pub fn objects(self) -> Option<ObjectFormat> {
        match self {
            Self::Text => None,
            Self::Json => Some(ObjectFormat::Json),
            Self::Yaml => Some(ObjectFormat::Yaml),
        }
    }
}

/// The output format of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// For people, with the line of the file.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}

/// The output format of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SimulateFormat {
    /// A line for each sync in which something changed, and the answer.
    #[default]
    Table,
    /// One JSON object for each sync, and then the answer.
    Json,
    /// A plot of text characters.
    Plot,
    /// A plot for a browser.
    Svg,
}
