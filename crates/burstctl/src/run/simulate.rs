//! `burstctl hpa simulate`

use std::io::{self, Read};
use std::path::Path;

use burst_hpa::{defaulted, validate};

use super::{Outcome, Terminal};
use crate::args::{SimulateArgs, SimulateFormat};
use crate::explain::controller_options;
use crate::hpa;
use crate::input::Input;
use crate::objects::Object;
use crate::printer::Printer;
use crate::short_form::ScaleTargets;
use crate::simulate::{Scenario, SyncStep, Trace, json, plot, simulate as run_simulation, svg, table};

/// Runs the simulated controller over a trace.
pub(super) fn simulate(args: &SimulateArgs, terminal: &mut Terminal<'_>) -> Outcome {
    if [&args.file, &args.trace].iter().all(|path| *path == Path::new("-")) {
        terminal.message("only one of the HPA and the trace can come from stdin");
        return Outcome::Incomplete;
    }
    let input = Input::read(std::slice::from_ref(&args.file), terminal.stdin());
    terminal.report_unreadable(&input);
    terminal.report_syntax_errors(&input);
    if terminal.report_invalid_objects(&input) || input.is_incomplete() {
        return Outcome::Incomplete;
    }
    let targets = ScaleTargets::of(&input);
    let mut hpas = hpas_of(&input);
    let (Some(object), 0) = (hpas.next(), hpas.count()) else {
        let found = hpas_of(&input).count();
        terminal.message(format_args!("{}: expected one HPA, found {found}", args.file.display()));
        return Outcome::ProblemsFound;
    };
    let text = match read_trace(&args.trace, terminal.stdin()) {
        // Invalid UTF-8 is not a number, so the parser reports it with its line.
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(reason) => {
            terminal.message(format_args!("{}: {reason}", args.trace.display()));
            return Outcome::Incomplete;
        }
    };
    match simulation(args, object, &targets, &text) {
        Ok(simulation) => {
            let written = simulation.write(args.output, terminal.data());
            terminal.finish(written, Outcome::Success)
        }
        Err(InputError::Hpa(reasons)) => {
            for reason in reasons {
                terminal.message(format_args!(
                    "{}: {}: {reason}",
                    args.file.display(),
                    hpa::title(object)
                ));
            }
            Outcome::ProblemsFound
        }
        Err(InputError::Trace(reason)) => {
            terminal.message(format_args!("{}:{reason}", args.trace.display()));
            Outcome::Incomplete
        }
    }
}

fn hpas_of(input: &Input) -> impl Iterator<Item = &Object> {
    input.objects.iter().filter(|object| hpa::is_hpa(object))
}

fn read_trace(trace: &Path, stdin: &mut dyn Read) -> io::Result<Vec<u8>> {
    if trace != Path::new("-") {
        return std::fs::read(trace);
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum InputError {
    Hpa(Vec<String>),
    Trace(String),
}

/// The result of a simulation, with the title and the limits for its plots.
struct Simulation {
    title: String,
    min: i32,
    max: i32,
    names: Vec<String>,
    steps: Vec<SyncStep>,
}

impl Simulation {
    fn write(&self, format: SimulateFormat, printer: &mut Printer<'_>) -> io::Result<()> {
        let Self {
            title,
            min,
            max,
            names,
            steps,
        } = self;
        match format {
            SimulateFormat::Table => table(steps, names).iter().try_for_each(|line| printer.line(line)),
            SimulateFormat::Json => json(steps, names).iter().try_for_each(|step| printer.json(step)),
            SimulateFormat::Plot => printer.raw(&plot(steps, *min, *max)),
            SimulateFormat::Svg => printer.raw(&svg(steps, *min, *max, title)),
        }
    }
}

fn simulation(
    args: &SimulateArgs,
    object: &Object,
    targets: &ScaleTargets<'_>,
    trace: &str,
) -> Result<Simulation, InputError> {
    let options = args.cluster.options();
    let written = hpa::read(object, targets, options).map_err(InputError::Hpa)?;
    let hpa = defaulted(written, options);
    let errors = validate(&hpa, options);
    if !errors.is_empty() {
        return Err(InputError::Hpa(errors.iter().map(ToString::to_string).collect()));
    }
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
    let spec = &hpa.spec;
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    let metrics = spec.metrics.as_ref().map_or(0, Vec::len);
    let trace = Trace::read(trace, metrics).map_err(|error| InputError::Trace(error.to_string()))?;
    let scenario = Scenario {
        replicas: args.replicas.unwrap_or(min),
        startup: args.startup,
    };
    let steps = run_simulation(namespace, spec, &trace, scenario, &controller_options(options))
        .map_err(|error| InputError::Hpa(vec![error.to_string()]))?;
    Ok(Simulation {
        title: hpa::title(object),
        min,
        max,
        names: trace.names,
        steps,
    })
}
