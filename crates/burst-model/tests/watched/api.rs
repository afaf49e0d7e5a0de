//! A Kubernetes API with lists and watches, and the faults of its responses.

use burst_model::kube::{ApiResponse, Failure, Source, Verb, response};
use burst_model::sync::scheduler::ScheduledRequest;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Cut,
    Truncated,
    Status(u16),
}

pub(super) const KINDS: [&str; 3] = ["horizontalpodautoscalers", "services", "deployments"];

/// A Kubernetes API that keeps a log. Each change is a resource version.
#[derive(Default)]
pub(super) struct Api {
    pub(super) log: Vec<(usize, String, Option<String>)>,
    pub(super) forgotten: usize,
}

impl Api {
    pub(super) fn put(&mut self, kind: usize, name: u8, value: u8) {
        let spec = match kind {
            0 => format!(
                r#""spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"n{name}"}},
                "maxReplicas":9}},"status":{{"currentReplicas":{value}}}"#
            ),
            // Some Services are invalid.
            1 if value == 0 => r#""spec":7"#.into(),
            1 => format!(r#""spec":{{"selector":{{"app":"a{}"}}}}"#, value % 4),
            _ => format!(
                r#""spec":{{"template":{{"metadata":{{"labels":{{"app":"a{}"}}}}}}}}"#,
                value % 4
            ),
        };
        self.log.push((kind, format!("n{name}"), Some(spec)));
    }

    pub(super) fn objects(&self, kind: usize, version: usize) -> BTreeMap<&str, String> {
        let mut objects = BTreeMap::new();
        for (index, (of, name, spec)) in self.log.iter().enumerate().take(version) {
            match spec {
                Some(spec) if *of == kind => {
                    objects.insert(name.as_str(), object(name, index + 1, spec));
                }
                None if *of == kind => {
                    objects.remove(name.as_str());
                }
                _ => {}
            }
        }
        objects
    }

    pub(super) fn list(&self, source: &Source, path: &str) -> String {
        let parameter = |name: &str| path.split(['?', '&']).find_map(|pair| pair.strip_prefix(name));
        let limit: usize = parameter("limit=").unwrap().parse().unwrap();
        let (version, skip) = match parameter("continue=") {
            Some(token) => token
                .split_once('.')
                .map(|(v, s)| (v.parse().unwrap(), s.parse().unwrap()))
                .unwrap(),
            None => (self.log.len(), 0),
        };
        let objects = kind_of(source)
            .map(|kind| self.objects(kind, version))
            .unwrap_or_default();
        let items: Vec<_> = objects.values().skip(skip).take(limit).cloned().collect();
        let token = match objects.len() > skip + limit {
            true => format!(r#","continue":"{version}.{}""#, skip + limit),
            false => String::new(),
        };
        let kind = &source.resource.kind;
        let items = items.join(",");
        format!(r#"{{"kind":"{kind}List","metadata":{{"resourceVersion":"{version}"{token}}},"items":[{items}]}}"#)
    }

    pub(super) fn watch(&self, source: &Source, path: &str) -> Result<String, u16> {
        let from: usize = path.rsplit_once("resourceVersion=").unwrap().1.parse().unwrap();
        if from < self.forgotten {
            return Err(410);
        }
        let mut lines = String::new();
        for (index, (kind, name, spec)) in self.log.iter().enumerate().skip(from) {
            if kind_of(source) == Some(*kind) {
                let (event, spec) = match spec {
                    Some(spec) => ("MODIFIED", spec.as_str()),
                    None => ("DELETED", r#""spec":{}"#),
                };
                let object = object(name, index + 1, spec).replace('\n', " ");
                lines.push_str(&format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"));
            }
        }
        let now = self.log.len();
        lines.push_str(&format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{now}\"}}}}}}\n"
        ));
        Ok(lines)
    }

    pub(super) fn respond(
        &self,
        source: &Source,
        scheduled: &ScheduledRequest,
        fault: Option<Fault>,
    ) -> Result<response::Payload, Failure> {
        let (mut status, mut body) = match scheduled.request.verb {
            Verb::List => (200, self.list(source, &scheduled.request.path)),
            Verb::Watch => match self.watch(source, &scheduled.request.path) {
                Ok(lines) => (200, lines),
                Err(status) => (status, "{}".into()),
            },
        };
        match fault {
            Some(Fault::Cut) => return Err(Failure::Disconnected),
            Some(Fault::Status(other)) => (status, body) = (other, "{}".into()),
            Some(Fault::Truncated) => body.truncate(body.len() * 2 / 3),
            None => {}
        }
        let response = ApiResponse {
            status: Some(status),
            content_type: Some(b"application/json"),
            retry_after: None,
            body: body.as_bytes(),
        };
        response::parse(source, scheduled.request.verb, response, &mut ())
    }
}

pub(super) fn kind_of(source: &Source) -> Option<usize> {
    KINDS.iter().position(|kind| *kind == source.resource.plural)
}

pub(super) fn object(name: &str, version: usize, spec: &str) -> String {
    format!(r#"{{"metadata":{{"namespace":"shop","name":"{name}","resourceVersion":"{version}"}},{spec}}}"#)
}
