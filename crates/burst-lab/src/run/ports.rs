//! The ports of a run: two that users choose, and two that are free.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use super::envoy::Ports;
use crate::args::Run;

/// How many ports after the one in use may be tried.
const TRIED: u16 = 100;

/// Another process listens on a port.
#[derive(Debug, thiserror::Error)]
#[error(
    "port {port}, for {purpose}, is in use ({source}). `ss -ltnp 'sport = :{port}'` shows the process. End it, or choose \
     another port: {advice}"
)]
pub(super) struct PortInUse {
    port: u16,
    purpose: &'static str,
    advice: String,
    source: io::Error,
}

/// Checks the two ports that users choose before anything starts. Envoy reports its own only in the middle of its log.
pub(super) fn check(options: &Run) -> Result<(), PortInUse> {
    check_is_free(options.proxy, "Envoy", "PORT", "--proxy")?;
    check_is_free(options.lab.api, "the Kubernetes API", "API_PORT", "--api")
}

fn check_is_free(
    addr: SocketAddr,
    purpose: &'static str,
    variable: &'static str,
    option: &'static str,
) -> Result<(), PortInUse> {
    let Err(source) = TcpListener::bind(addr) else {
        return Ok(());
    };
    let free = free_after(addr).map_or_else(|| "N".to_owned(), |port| port.to_string());
    Err(PortInUse {
        port: addr.port(),
        purpose,
        advice: format!(
            "`make run {variable}={free}`, or `burst-lab run {option} {}:{free}`",
            addr.ip()
        ),
        source,
    })
}

fn free_after(addr: SocketAddr) -> Option<u16> {
    let tried = (1..=TRIED).filter_map(|offset| addr.port().checked_add(offset));
    tried.into_iter().find(|port| is_free(addr.ip(), *port))
}

fn is_free(ip: IpAddr, port: u16) -> bool {
    TcpListener::bind((ip, port)).is_ok()
}

/// The address, or the same with any free port if another process listens there.
pub(super) fn or_any(addr: SocketAddr) -> SocketAddr {
    let port = if is_free(addr.ip(), addr.port()) {
        addr.port()
    } else {
        0
    };
    SocketAddr::new(addr.ip(), port)
}

/// The ports in Envoy's configuration. The admin interface gets any free port if its usual one is in use.
pub(super) fn of_envoy(options: &Run, api: SocketAddr, services: Option<SocketAddr>) -> Ports {
    Ports {
        listener: options.proxy.port(),
        admin: or_any(SocketAddr::new(options.proxy.ip(), options.admin)).port(),
        api: api.port(),
        services: services.map(|services| services.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_a_free_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let error = check_is_free(addr, "Envoy", "PORT", "--proxy").unwrap_err().to_string();
        let begin = format!("port {}, for Envoy, is in use (Address already in use", addr.port());
        assert!(error.starts_with(&begin), "{error}");
        let free = error
            .split_once("`make run PORT=")
            .unwrap()
            .1
            .split_once('`')
            .unwrap()
            .0;
        assert_ne!(free, addr.port().to_string());
        assert!(
            error.ends_with(&format!("`burst-lab run --proxy 127.0.0.1:{free}`")),
            "{error}"
        );
        let other = or_any(addr);
        assert_eq!((other.ip(), other.port()), (addr.ip(), 0));
    }
}
