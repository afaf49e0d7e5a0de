//! kube-apiserver's own code, in the Go program `tests/oracle/admission`: one line in, one line out.

use std::collections::BTreeSet;

use burst_hpa::{Options, Refusal};
use burst_testkit::oracle;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer to a document. Two answers are equal if a user cannot distinguish them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Refused with status 400 under any `fieldValidation`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub undecodable: bool,
    /// Refused with status 400 under `fieldValidation=Strict`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strict: BTreeSet<String>,
    /// Refused with status 422.
    #[serde(default, skip_serializing_if = "is_default")]
    pub errors: BTreeSet<FieldError>,
    /// The stored object.
    #[serde(default, skip_serializing_if = "is_default")]
    pub object: Value,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FieldError {
    pub r#type: String,
    pub field: String,
    pub detail: String,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    decode: String,
    #[serde(default)]
    strict: BTreeSet<String>,
    #[serde(default)]
    errors: BTreeSet<FieldError>,
    #[serde(default)]
    object: Value,
}

/// Returns the answer of the real code to each JSON document.
pub(crate) fn kubernetes(documents: &[String], options: Options) -> Vec<Answer> {
    let gates = [
        format!("HPAScaleToZero={}", options.scale_to_zero),
        format!("HPAConfigurableTolerance={}", options.tolerance),
    ];
    let questions: Vec<String> = documents
        .iter()
        .map(|json| serde_json::json!({ "json": json }).to_string())
        .collect();
    let program = match options.minor == Options::default().minor {
        true => oracle::program("admission"),
        false => oracle::program_of("admission", &format!("1.{}", options.minor)),
    };
    oracle::ask_at(&program, &gates, &questions)
        .iter()
        .map(|line| serde_json::from_str::<Reply>(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .map(|reply| Answer {
            undecodable: !reply.decode.is_empty() && reply.strict.is_empty(),
            strict: reply.strict,
            errors: reply.errors,
            object: comparable(reply.object),
        })
        .collect()
}

/// Returns the answer of this crate.
pub(crate) fn ours(document: &str, options: Options) -> Answer {
    let node = burst_hpa::Node::from_json(document).unwrap_or_else(|e| panic!("{e}: {document}"));
    match burst_hpa::admit(&node, options) {
        Ok(hpa) => Answer {
            object: comparable(serde_json::to_value(hpa).unwrap()),
            ..Answer::default()
        },
        Err(Refusal::Decode(errors)) if errors.iter().all(burst_hpa::DecodeError::only_strict) => Answer {
            strict: errors.iter().map(ToString::to_string).collect(),
            ..Answer::default()
        },
        Err(Refusal::Decode(_)) => Answer {
            undecodable: true,
            ..Answer::default()
        },
        Err(Refusal::Invalid(errors)) => Answer {
            errors: errors
                .into_iter()
                .map(|e| FieldError {
                    r#type: e.error_type.as_str().to_owned(),
                    field: e.field,
                    detail: e.detail,
                })
                .collect(),
            ..Answer::default()
        },
    }
}

/// The parts that only one of the two answers has, if they differ.
pub(crate) fn difference(document: &str, ours: &Answer, theirs: &Answer) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let mut difference = format!("\n{document}\n");
    let mut say = |what: &str| difference.push_str(&format!("  {what}\n"));
    if ours.undecodable != theirs.undecodable {
        say(&format!(
            "undecodable: here {}, apiserver {}",
            ours.undecodable, theirs.undecodable
        ));
    }
    ours.strict
        .difference(&theirs.strict)
        .for_each(|error| say(&format!("only here: {error}")));
    theirs
        .strict
        .difference(&ours.strict)
        .for_each(|error| say(&format!("only apiserver: {error}")));
    ours.errors
        .difference(&theirs.errors)
        .for_each(|error| say(&format!("only here: {error:?}")));
    theirs
        .errors
        .difference(&ours.errors)
        .for_each(|error| say(&format!("only apiserver: {error:?}")));
    if ours.object != theirs.object {
        say(&format!("here:      {}\n  apiserver: {}", ours.object, theirs.object));
    }
    Some(difference)
}

/// Removes the fields that later steps of the apiserver fill in: status, the generated name, the request's namespace,
/// times.
pub(crate) fn comparable(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
        metadata.remove("namespace");
        if metadata.contains_key("generateName") {
            metadata.remove("name");
        }
    }
    object
}

/// Runs the program of the newest version, with a line of input for each line of output.
pub(crate) fn ask(arguments: &[String], lines: &[String]) -> Vec<String> {
    oracle::ask("admission", arguments, lines)
}
