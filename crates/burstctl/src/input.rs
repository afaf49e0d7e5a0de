//! Reads files into objects. A document that cannot be read does not affect the others.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use burst_hpa::node::{Mark, Node};

use crate::objects::{self, Object};
use crate::yaml::{self, SyntaxError};

/// A file's name and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name as given; `<stdin>` for `-`.
    pub name: String,
    /// The whole text.
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
pub struct InvalidDocument {
    /// Index of its source.
    pub source: usize,
    /// Counts from 1.
    pub document: usize,
    /// The reason.
    pub error: SyntaxError,
}

/// All input of a command.
#[derive(Debug, Default)]
pub struct Input {
    /// The files.
    pub sources: Vec<SourceFile>,
    /// The objects, with lists expanded.
    pub objects: Vec<Object>,
    /// Documents that cannot be parsed.
    pub invalid_documents: Vec<InvalidDocument>,
    /// Files that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Where the objects are from.
    pub origin: Origin,
}

/// Where objects are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Files, which may omit the targets of HPAs.
    #[default]
    Files,
    /// A cluster. The target of each HPA is among the objects, if it exists.
    Cluster,
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

    /// Parses texts that are already in memory.
    #[must_use]
    pub fn from_sources(sources: impl IntoIterator<Item = SourceFile>) -> Self {
        let mut input = Self::default();
        sources.into_iter().for_each(|source| input.take(source, &[]));
        input
    }

    /// Returns whether there are no documents, for example an empty directory or only comments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.invalid_documents.is_empty() && self.unreadable.is_empty()
    }

    /// Returns whether something could not be read, or there was nothing to read.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_empty() || !self.invalid_documents.is_empty() || !self.unreadable.is_empty()
    }

    /// Forgets what is wrong with files that mention no HPA, such as a file that only another program can read. Their valid
    /// objects stay.
    pub fn forget_foreign_errors(&mut self) {
        let Self {
            sources,
            objects,
            invalid_documents,
            ..
        } = self;
        let is_foreign = |source: usize| sources.get(source).is_none_or(|source| !mentions_hpa(&source.text));
        invalid_documents.retain(|document| !is_foreign(document.source));
        objects.retain(|object| object.invalid_reason().is_none() || !is_foreign(object.source));
    }

    /// Returns the name of a source.
    #[must_use]
    pub fn name(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", |source| &source.name)
    }

    fn add(&mut self, path: &Path, stdin: &mut dyn Read) -> io::Result<()> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes)?;
            self.take_bytes("<stdin>".to_owned(), bytes);
            return Ok(());
        }
        if !path.is_dir() {
            self.take_bytes(path.display().to_string(), std::fs::read(path)?);
            return Ok(());
        }
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for entry in entries.iter().filter(|entry| is_manifest(entry)) {
            if let Err(reason) = self.add(entry, stdin) {
                let path = entry.clone();
                self.unreadable.push(Unreadable { path, reason });
            }
        }
        Ok(())
    }

    fn take_bytes(&mut self, name: String, bytes: Vec<u8>) {
        let bytes = decode_utf16(&bytes).map_or(bytes, String::into_bytes);
        let (text, invalid_utf8) = match String::from_utf8(bytes) {
            Ok(text) => (text, Vec::new()),
            Err(error) => mark_invalid_utf8(error.as_bytes()),
        };
        self.take(SourceFile { name, text }, &invalid_utf8);
    }

    fn take(&mut self, mut source: SourceFile, invalid_utf8: &[Mark]) {
        let index = self.sources.len();
        for document in yaml::documents(&source.text) {
            match reject_invalid_utf8(document.content, invalid_utf8) {
                Ok(tree) => self.objects.extend(objects::in_document(index, document.number, tree)),
                Err(error) => self.invalid_documents.push(InvalidDocument {
                    source: index,
                    document: document.number,
                    error,
                }),
            }
        }
        if !invalid_utf8.is_empty() {
            source.text = source.text.replace(INVALID_UTF8, "\u{fffd}");
        }
        self.sources.push(source);
    }
}

/// Returns whether a text has the kind or the group of an HPA, or the group of short forms.
fn mentions_hpa(text: &str) -> bool {
    ["HorizontalPodAutoscaler", "autoscaling/", "burstctl/"]
        .iter()
        .any(|name| text.contains(name))
}

/// Replaces bytes that are not UTF-8. No document may contain it, so only the document with the bytes is refused.
const INVALID_UTF8: char = '\u{ffff}';

/// Decodes UTF-16 with a byte order mark, which Windows writes and kubectl reads.
fn decode_utf16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks();
    let units: Vec<u16> = pairs.iter().copied().map(unit).collect();
    String::from_utf16(&units).ok().filter(|_| odd.is_empty())
}

/// Returns the text, and the position of each byte that is not UTF-8.
fn mark_invalid_utf8(bytes: &[u8]) -> (String, Vec<Mark>) {
    let (mut text, mut invalid_utf8) = (String::with_capacity(bytes.len()), Vec::new());
    let mut at = Mark { line: 1, column: 1 };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => (at.line, at.column) = (at.line + 1, 1),
                _ => at.column += 1,
            }
        }
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(INVALID_UTF8);
            invalid_utf8.push(at);
            at.column += 1;
        }
    }
    (text, invalid_utf8)
}

/// The YAML reader refuses the replacement; JSON strings accept it, so this does.
fn reject_invalid_utf8(content: Result<Node, SyntaxError>, invalid_utf8: &[Mark]) -> Result<Node, SyntaxError> {
    let at = invalid_utf8.iter().find(|mark| match &content {
        Ok(tree) => (tree.span().start..tree.span().end).contains(mark),
        Err(error) => error.at == **mark,
    });
    match at {
        Some(&at) => Err(SyntaxError {
            at,
            message: "a byte that is not UTF-8".to_owned(),
        }),
        None => content,
    }
}

/// Whether a directory entry is read. Links to directories are not followed, which prevents loops.
fn is_manifest(path: &Path) -> bool {
    let has_manifest_extension = path
        .extension()
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
    match path.metadata() {
        Ok(found) if found.is_dir() => !path.is_symlink(),
        Ok(found) => has_manifest_extension && found.is_file(),
        // For example a broken link: reading it reports the reason.
        Err(_) => has_manifest_extension,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
        let input = Input::read(&["-".into()], &mut &*bytes);
        let titles = input.objects.iter().map(Object::title).collect();
        (
            titles,
            input
                .invalid_documents
                .iter()
                .map(|broken| broken.error.to_string())
                .collect(),
        )
    }

    #[cfg(unix)]
    #[test]
    fn a_manifest_of_a_directory_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.yaml"), "metadata: {name: a}\n").unwrap();
        for (target, name) in [(".", "around"), ("nowhere.yaml", "b.yaml"), ("nowhere", "notes")] {
            std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        }
        let input = Input::read(&[folder.path().to_owned()], &mut std::io::empty());
        let unreadable: Vec<String> = input.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!((input.objects.len(), unreadable.len()), (1, 1), "{unreadable:?}");
        assert!(unreadable[0].contains("b.yaml: No such file"), "{unreadable:?}");
    }

    #[test]
    fn utf_16_and_windows_line_ends_are_read() {
        let text = "metadata: {name: é}\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [[b"\xff\xfe", &little[..]].concat(), [b"\xfe\xff", &big[..]].concat()] {
            assert_eq!(read(&bytes), (vec!["default/é".to_owned()], Vec::new()));
        }
    }

    #[test]
    fn invalid_utf8_has_a_position_and_affects_one_document() {
        let yaml = b"metadata: {name: a}\n---\n# caf\xe9\nmetadata: {name: b}\n---\nmetadata: {name: c}\n";
        let titles = ["default/a", "default/c"].map(str::to_owned).to_vec();
        assert_eq!(read(yaml), (titles, vec!["3:6: a byte that is not UTF-8".to_owned()]));
        let json = b"{\"metadata\": {\"name\": \"a\"}}\n{\"metadata\":\n{\"name\": \"\xff\xfe\"}}\n";
        let titles = vec!["default/a".to_owned()];
        assert_eq!(read(json), (titles, vec!["3:11: a byte that is not UTF-8".to_owned()]));
        let utf_16 = b"\xff\xfea\0:\0\x00\xd8";
        assert_eq!(
            read(utf_16),
            (Vec::new(), vec!["1:1: a byte that is not UTF-8".to_owned()])
        );
    }
}
