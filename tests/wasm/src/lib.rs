//! What the tests of `tests/` share. They are a package of their own because the dev-dependencies of the crates
//! under test need not compile for wasm32.
