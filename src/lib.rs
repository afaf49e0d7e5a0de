//! The Envoy filter: registers the contexts and nothing else.
