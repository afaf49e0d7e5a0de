//! The workloads of an input, by what a short form calls them.

use std::collections::HashMap;

use crate::input::Input;
use crate::objects::Object;

/// Deployments, StatefulSets and the like.
pub(crate) struct ScaleTargets<'a>(HashMap<[&'a str; 3], &'a Object>);

impl<'a> ScaleTargets<'a> {
    pub(crate) fn of(input: &'a Input) -> Self {
        let workloads = input.objects.iter().filter(|object| object.api_version() == "apps/v1");
        let named = workloads.map(|object| ([object.kind(), object.namespace(), object.name()], object));
        // Of two the first counts.
        Self(named.rev().collect())
    }

    pub(super) fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&'a Object> {
        self.0.get(&[kind, namespace, name]).copied()
    }
}
