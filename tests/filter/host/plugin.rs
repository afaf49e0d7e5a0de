//! A plugin as a listener or a WasmPlugin configures it. The same plugin loaded twice is one root context.

/// Name, root id and configuration, which together identify a root context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) root_id: String,
    pub(crate) configuration: Vec<u8>,
}

impl Plugin {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            root_id: String::new(),
            configuration: Vec::new(),
        }
    }

    pub(crate) fn config(self, configuration: impl Into<Vec<u8>>) -> Self {
        Self {
            configuration: configuration.into(),
            ..self
        }
    }
}
