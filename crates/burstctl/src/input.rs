//! Files in, objects out. What cannot be read costs only itself.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::objects::{self, Object};
use crate::yaml::{self, SyntaxError};

/// A file's name and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As it was given; `<stdin>` for `-`.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A file that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    reason: io::Error,
}

/// A document that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Index of its source.
    pub source: usize,
    /// Counts from 1.
    pub document: usize,
    /// Why.
    pub error: SyntaxError,
}

/// Everything that was given.
#[derive(Debug, Default)]
pub struct Input {
    /// The files.
    pub sources: Vec<Source>,
    /// What is in them, lists taken apart.
    pub objects: Vec<Object>,
    /// What is not YAML.
    pub broken: Vec<Broken>,
    /// What could not be opened.
    pub unreadable: Vec<Unreadable>,
}

impl Input {
    /// Reads files, directories and, for `-`, `stdin`.
    pub fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Self {
        let mut input = Self::default();
        for path in paths {
            if let Err(reason) = input.add(path, stdin) {
                let path = path.clone();
                input.unreadable.push(Unreadable { path, reason });
            }
        }
        input
    }

    /// Reads texts that are there already.
    #[must_use]
    pub fn of(sources: impl IntoIterator<Item = Source>) -> Self {
        let mut input = Self::default();
        sources.into_iter().for_each(|source| input.take(source));
        input
    }

    /// Whether anything could not be read.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.broken.is_empty() || !self.unreadable.is_empty()
    }

    fn add(&mut self, path: &Path, stdin: &mut dyn Read) -> io::Result<()> {
        if path == Path::new("-") {
            let mut text = String::new();
            stdin.read_to_string(&mut text)?;
            let name = "<stdin>".to_owned();
            self.take(Source { name, text });
            return Ok(());
        }
        if !path.is_dir() {
            let (name, text) = (path.display().to_string(), std::fs::read_to_string(path)?);
            self.take(Source { name, text });
            return Ok(());
        }
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for entry in entries.iter().filter(|entry| is_wanted(entry)) {
            if let Err(reason) = self.add(entry, stdin) {
                let path = entry.clone();
                self.unreadable.push(Unreadable { path, reason });
            }
        }
        Ok(())
    }

    fn take(&mut self, source: Source) {
        let index = self.sources.len();
        for document in yaml::documents(&source.text) {
            match document.content {
                Ok(tree) => self.objects.extend(objects::of(index, document.number, tree)),
                Err(error) => self.broken.push(Broken {
                    source: index,
                    document: document.number,
                    error,
                }),
            }
        }
        self.sources.push(source);
    }
}

/// In a directory; links to directories are not followed, so there is an end.
fn is_wanted(path: &Path) -> bool {
    let manifest = path
        .extension()
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|word| extension == *word));
    (path.is_dir() && !path.is_symlink()) || (manifest && path.is_file())
}
