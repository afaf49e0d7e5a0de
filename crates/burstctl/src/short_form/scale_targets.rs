//! The workloads of an input that a short form can name as its target.

use std::collections::HashMap;

use crate::input::Input;
use crate::objects::Object;

/// The objects of `apps/v1`, by kind, namespace and name.
pub(crate) struct ScaleTargets<'a>(HashMap<[&'a str; 3], &'a Object>);

impl<'a> ScaleTargets<'a> {
    pub(crate) fn of(input: &'a Input) -> Self {
        let workloads = input.objects.iter().filter(|object| object.api_version() == "apps/v1");
        let named = workloads.map(|object| ([object.kind(), object.namespace(), object.name()], object));
        // `rev` lets the first of two objects with the same name win.
        Self(named.rev().collect())
    }

    pub(super) fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&'a Object> {
        self.0.get(&[kind, namespace, name]).copied()
    }
}
