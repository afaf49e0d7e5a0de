//! Takes exports out of a module, and with them the code that nothing else reaches; puts our callbacks in the place of the
//! SDK's; and shortens names.

use anyhow::{Context as _, bail};
use walrus::{Export, Module, ModuleConfig};

use crate::{
    artifact::{Artifact, OURS, THEIRS},
    names,
};

/// The same module with the exports of `artifact` and no others. Fails where the module lacks one of them, so that a
/// name the SDK has changed is noticed here and not as a callback that never comes.
pub(crate) fn trim(wasm: &[u8], artifact: &Artifact) -> anyhow::Result<Vec<u8>> {
    let mut module = ModuleConfig::new()
        .generate_producers_section(false)
        .parse(wasm)
        .context("cannot read the module")?;
    prefer_ours(&mut module)?;
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
    // Not without any: a trap's back-trace has these names, and an address in their place tells nobody anything.
    for function in module.funcs.iter_mut() {
        function.name = function.name.as_deref().and_then(names::short);
    }
    Ok(module.emit_wasm())
}

/// Gives our callbacks the names of the SDK's, which go. Two functions of one name cannot be linked, so they had others.
fn prefer_ours(module: &mut Module) -> anyhow::Result<()> {
    let ours = module.exports.iter().filter(|export| export.name.starts_with(OURS));
    for ours in ours.map(Export::id).collect::<Vec<_>>() {
        let name = module.exports.get(ours).name.replacen(OURS, THEIRS, 1);
        let theirs = module.exports.iter().find(|export| export.name == name);
        let theirs = theirs.with_context(|| format!("the module does not export `{name}`, whose place ours takes"))?;
        module.exports.delete(theirs.id());
        module.exports.get_mut(ours).name = name;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use walrus::FunctionBuilder;

    use super::*;
    use crate::artifact::LIFE;

    const FULL: Artifact = {
        let [full, ..] = Artifact::SHIPPED;
        full
    };
    const HEADER: Artifact = {
        let [.., header] = Artifact::SHIPPED;
        header
    };

    #[test]
    fn an_export_that_is_not_kept_goes_and_its_code_with_it() {
        let trimmed = Module::from_buffer(&trim(&module(&FULL), &HEADER).unwrap()).unwrap();
        let mut left: Vec<_> = trimmed.exports.iter().map(|export| export.name.as_str()).collect();
        let mut kept: Vec<_> = HEADER.exports().collect();
        left.sort_unstable();
        kept.sort_unstable();
        assert_eq!(left, kept);
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
    fn our_callback_takes_the_place_of_the_sdks() {
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
            "the module does not export `proxy_on_tock`, whose place ours takes"
        );
    }

    /// A module of empty functions with the exports of `artifact`.
    fn module(artifact: &Artifact) -> Vec<u8> {
        let mut module = Module::default();
        let memory = module.memories.add_local(false, false, 1, None, None);
        module.exports.add(LIFE[0], memory);
        for name in artifact.exports().skip(1) {
            export(&mut module, name);
        }
        module.emit_wasm()
    }

    fn export(module: &mut Module, name: &str) {
        let mut function = FunctionBuilder::new(&mut module.types, &[], &[]);
        function.name(name.to_owned());
        let function = function.finish(Vec::new(), &mut module.funcs);
        module.exports.add(name, function);
    }
}
