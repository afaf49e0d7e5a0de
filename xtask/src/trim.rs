//! Removes unused exports from a module with the code that only they reach, replaces callbacks of the SDK by ours, and
//! shortens function names.

use anyhow::{Context as _, bail};
use walrus::{Export, Module, ModuleConfig};

use crate::{
    artifact::{Artifact, OWN_PREFIX, SDK_PREFIX},
    names,
};

/// Returns the module with only the exports of `artifact`. Fails if one is missing: if the SDK renames a callback, the build
/// fails, instead of a callback that never runs.
pub(crate) fn trim(wasm: &[u8], artifact: &Artifact) -> anyhow::Result<Vec<u8>> {
    let mut module = ModuleConfig::new()
        .generate_producers_section(false)
        .parse(wasm)
        .context("cannot read the module")?;
    replace_callbacks(&mut module)?;
    for name in artifact.exports() {
        if !module.exports.iter().any(|export| export.name == name) {
            bail!("the module does not export `{name}`");
        }
    }
    let superfluous: Vec<_> = module
        .exports
        .iter()
        .filter(|export| !artifact.keeps(&export.name))
        .map(Export::id)
        .collect();
    for export in superfluous {
        module.exports.delete(export);
    }
    walrus::passes::gc::run(&mut module);
    // Short names are kept for the back-trace of a trap.
    for function in module.funcs.iter_mut() {
        function.name = function.name.as_deref().and_then(names::short);
    }
    Ok(module.emit_wasm())
}

/// Replaces callbacks of the SDK by ours. Until now ours have another prefix, because the linker allows each name once.
fn replace_callbacks(module: &mut Module) -> anyhow::Result<()> {
    let replacements: Vec<_> = module
        .exports
        .iter()
        .filter(|export| export.name.starts_with(OWN_PREFIX))
        .map(Export::id)
        .collect();
    for replacement in replacements {
        let name = module.exports.get(replacement).name.replacen(OWN_PREFIX, SDK_PREFIX, 1);
        let replaced = module
            .exports
            .iter()
            .find(|export| export.name == name)
            .with_context(|| format!("the module does not export `{name}`, which our callback replaces"))?;
        module.exports.delete(replaced.id());
        module.exports.get_mut(replacement).name = name;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use walrus::FunctionBuilder;

    use super::*;
    use crate::artifact::LIFECYCLE;

    const FULL: Artifact = {
        let [full, ..] = Artifact::SHIPPED;
        full
    };
    const HEADER: Artifact = {
        let [.., header] = Artifact::SHIPPED;
        header
    };

    #[test]
    fn an_unused_export_is_removed_with_its_code() {
        let trimmed = Module::from_buffer(&trim(&module(&FULL), &HEADER).unwrap()).unwrap();
        let mut exported: Vec<_> = trimmed.exports.iter().map(|export| export.name.as_str()).collect();
        let mut expected: Vec<_> = HEADER.exports().collect();
        exported.sort_unstable();
        expected.sort_unstable();
        assert_eq!(exported, expected);
        assert!(
            trimmed.funcs.by_name("proxy_on_request_headers").is_none(),
            "its function is still there"
        );
    }

    #[test]
    fn functions_keep_their_names() {
        let trimmed = Module::from_buffer(&trim(&module(&FULL), &FULL).unwrap()).unwrap();
        assert!(trimmed.funcs.by_name("proxy_on_tick").is_some());
    }

    #[test]
    fn a_missing_export_is_named() {
        let error = trim(&module(&HEADER), &FULL).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the module does not export `proxy_on_request_headers`"
        );
    }

    #[test]
    fn our_callback_replaces_the_one_of_the_sdk() {
        let mut both = Module::from_buffer(&module(&FULL)).unwrap();
        export(&mut both, "own_on_tick");
        let trimmed = Module::from_buffer(&trim(&both.emit_wasm(), &FULL).unwrap()).unwrap();
        let tick = trimmed.exports.get_func("proxy_on_tick").unwrap();
        assert_eq!(trimmed.funcs.get(tick).name.as_deref(), Some("own_on_tick"));
        assert!(
            trimmed.funcs.by_name("proxy_on_tick").is_none(),
            "the SDK's is still there"
        );
    }

    #[test]
    fn a_callback_of_ours_that_the_sdk_does_not_know_is_named() {
        let mut module = Module::from_buffer(&module(&FULL)).unwrap();
        export(&mut module, "own_on_tock");
        let error = trim(&module.emit_wasm(), &FULL).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the module does not export `proxy_on_tock`, which our callback replaces"
        );
    }

    /// Returns a module of empty functions with the exports of `artifact`.
    fn module(artifact: &Artifact) -> Vec<u8> {
        let mut module = Module::default();
        let memory = module.memories.add_local(false, false, 1, None, None);
        module.exports.add(LIFECYCLE[0], memory);
        for name in artifact.exports().skip(1) {
            export(&mut module, name);
        }
        module.emit_wasm()
    }

    fn export(module: &mut Module, name: &str) {
        let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
        builder.name(name.to_owned());
        let function = builder.finish(Vec::new(), &mut module.funcs);
        module.exports.add(name, function);
    }
}
