//! `burstctl hpa simulate`

use std::fmt::Display;
use std::io::{self, Read};
use std::path::Path;

use burst_hpa::simulate::{Plan, Tolerance};
use burst_hpa::{defaulted, validate};
use clap::builder::styling::Style;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;

use super::{Outcome, Terminal};
use crate::args::{SimulateArgs, SimulateFormat};
use crate::explain::controller_options;
use crate::hpa;
use crate::input::Input;
use crate::metric_model::MetricModel;
use crate::objects::Object;
use crate::printer::Printer;
use crate::short_form::ScaleTargets;
use crate::simulate::{
    Assumptions, Figure, LoadShape, MetricLoad, Scenario, Simulation, Summary, Trace, json, plot,
    simulate as run_simulation, svg, table,
};

/// Runs the simulated controller under a load.
pub(super) fn simulate(args: &SimulateArgs, terminal: &mut Terminal<'_>) -> Outcome {
    let trace_is_stdin = args.load.trace.as_deref() == Some(Path::new("-"));
    if args.file == Path::new("-") && trace_is_stdin {
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
    let load = match read_load(args, terminal) {
        Ok(load) => load,
        Err(reason) => {
            terminal.message(reason);
            return Outcome::Incomplete;
        }
    };
    match played(args, object, &targets, &load) {
        Ok(played) => {
            let columns = terminal.columns();
            let written = played.write(args.output, columns, terminal.data());
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
        Err(InputError::Load(reason)) => {
            terminal.message(reason);
            Outcome::Incomplete
        }
    }
}

fn hpas_of(input: &Input) -> impl Iterator<Item = &Object> {
    input.objects.iter().filter(|object| hpa::is_hpa(object))
}

/// The load as the user gave it.
enum Load {
    Shape(LoadShape),
    Trace { name: String, text: String },
}

fn read_load(args: &SimulateArgs, terminal: &mut Terminal<'_>) -> Result<Load, String> {
    let path = match (args.load.shape, &args.load.trace) {
        (Some(shape), _) => return Ok(Load::Shape(shape)),
        (None, Some(path)) => path,
        // The parser of the arguments requires one of them.
        (None, None) => return Err("expected --load or --trace".to_owned()),
    };
    let name = path.display().to_string();
    match read_trace(path, terminal.stdin()) {
        // Invalid UTF-8 is not a number, so the parser reports it with its line.
        Ok(bytes) => Ok(Load::Trace {
            name,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }),
        Err(reason) => Err(format!("{name}: {reason}")),
    }
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
    Load(String),
}

/// A simulation with what its plots show besides it.
struct Played {
    title: String,
    min: i32,
    max: i32,
    names: Vec<String>,
    simulation: Simulation,
    summary: Summary,
}

impl Played {
    fn write(&self, format: SimulateFormat, columns: usize, printer: &mut Printer<'_>) -> io::Result<()> {
        let Simulation { steps, timeline } = &self.simulation;
        match format {
            SimulateFormat::Table => {
                table(steps, &self.names)
                    .iter()
                    .try_for_each(|line| printer.line(line))?;
                printer.line("")?;
                self.write_summary(printer)
            }
            SimulateFormat::Json => {
                json(steps, &self.names)
                    .iter()
                    .try_for_each(|step| printer.json(step))?;
                printer.json(&self.summary.json())
            }
            SimulateFormat::Plot => {
                for line in plot(timeline, self.min, self.max, columns) {
                    let parts: Vec<(Style, &dyn Display)> = line
                        .iter()
                        .map(|(style, text)| (*style, text as &dyn Display))
                        .collect();
                    printer.styled_line(&parts)?;
                }
                printer.line("")?;
                self.write_summary(printer)
            }
            SimulateFormat::Svg => printer.raw(&svg(&Figure {
                title: &self.title,
                headline: &self.summary.headline(),
                timeline,
                min: self.min,
                max: self.max,
            })),
        }
    }

    fn write_summary(&self, printer: &mut Printer<'_>) -> io::Result<()> {
        printer.styled_line(&[(Style::new().bold(), &self.summary.headline())])?;
        self.summary.details().iter().try_for_each(|line| printer.line(line))
    }
}

fn played(args: &SimulateArgs, object: &Object, targets: &ScaleTargets<'_>, load: &Load) -> Result<Played, InputError> {
    let hpa_error = |reason: String| InputError::Hpa(vec![reason]);
    let options = args.cluster.options();
    let written = hpa::read(object, targets, options).map_err(InputError::Hpa)?;
    let hpa = defaulted(written, options);
    let errors = validate(&hpa, options);
    if !errors.is_empty() {
        return Err(InputError::Hpa(errors.iter().map(ToString::to_string).collect()));
    }
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or("default");
    let (spec, options) = (&hpa.spec, controller_options(options));
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    let plan = Plan::read(namespace, spec).map_err(|error| hpa_error(error.to_string()))?;
    let models = metric_models(spec).map_err(hpa_error)?;
    let metrics = MetricLoad::of(models, args.pod_capacity, Tolerance::of(&plan, &options))
        .map_err(|error| InputError::Load(format!("--pod-capacity: {error}")))?;
    let scenario = Scenario {
        replicas: args.replicas.unwrap_or(min),
        max_replicas: max,
        startup: args.startup,
    };
    let trace = trace(load, &metrics, scenario).map_err(InputError::Load)?;
    let simulation =
        run_simulation(&plan, &metrics, &trace, scenario, &options).map_err(|error| hpa_error(error.to_string()))?;
    let assumptions = Assumptions {
        startup: args.startup,
        metrics,
        loads: trace.ranges(),
        max,
    };
    Ok(Played {
        title: hpa::title(object),
        min,
        max,
        names: trace.names,
        summary: Summary::of(&simulation.timeline, assumptions),
        simulation,
    })
}

/// Returns the metrics as the controller reads them.
fn metric_models(spec: &HorizontalPodAutoscalerSpec) -> Result<Vec<MetricModel>, String> {
    let invalid = |index: usize| {
        format!("spec.metrics[{index}]: the controller cannot use this metric; burstctl hpa lint explains why")
    };
    let metrics = spec.metrics.iter().flatten().enumerate();
    metrics
        .map(|(index, spec)| MetricModel::from_spec(spec).ok_or_else(|| invalid(index)))
        .collect()
}

fn trace(load: &Load, metrics: &[MetricLoad], scenario: Scenario) -> Result<Trace, String> {
    match load {
        Load::Shape(shape) => shape
            .trace(metrics, scenario.replicas, scenario.max_replicas)
            .map_err(|error| format!("--load: {error}")),
        Load::Trace { name, text } => {
            let names: Vec<String> = metrics.iter().map(MetricLoad::label).collect();
            Trace::read(text, &names).map_err(|error| format!("{name}{error}"))
        }
    }
}
