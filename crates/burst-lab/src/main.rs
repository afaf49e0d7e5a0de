//! The `burst-lab` command. Data goes to stdout, messages to stderr. It exits with 0 when it is terminated, with 1 on an
//! error.

mod args;
mod run;
mod signals;
mod stderr;

use std::error::Error;
use std::process::ExitCode;

use burst_lab::lab::Lab;
use burst_lab::sample;
use clap::Parser;

use args::{Args, Command, Serve};
use signals::Signals;
use stderr::print_line;

fn main() -> ExitCode {
    match start(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(format_args!("burst-lab: {error}"));
            run::last_lines(&*error).iter().for_each(print_line);
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn start(args: Args) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    match args.command {
        Command::Serve(serve) => self::serve(&serve, signals).await,
        Command::Run(run) => run::run(run, signals).await,
    }
}

async fn serve(options: &Serve, mut signals: Signals) -> Result<(), Box<dyn Error>> {
    let mut lab = Lab::start(sample::cluster()?, options.lab.api, options.lab.services).await?;
    lab.api.watches.configure(options.watches.config());
    if !options.still {
        lab.vary_load();
    }
    print_line(format_args!(
        "Kubernetes API on http://{}, its control requests on http://{0}/lab",
        lab.api_addr()
    ));
    print_line(format_args!("sample services on http://{}", lab.services_addr()));
    signals.shutdown_requested().await;
    Ok(())
}
