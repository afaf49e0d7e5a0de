//! Requests through Envoy: two clients that want the same, one of which reads `x-burst`, and other traffic of the services.

mod client;
mod demand;
mod request;
mod steering;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use burst_lab::curve::Curve;
use burst_lab::sample::{Load, Service};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Update;
use client::{Behaviour, Client};
use demand::Demand;
use steering::Steering;

pub(crate) use client::ClientKind;
pub(crate) use request::{Outcome, Proxy};

/// The pause between two attempts to reach an Envoy that does not listen yet.
const CONNECT_AGAIN: Duration = Duration::from_millis(100);

/// Keeps this share of the maximum replicas of a service busy at the peak of its load curve. An HPA that aims for 70 % is just
/// below its maximum then.
const BUSY_AT_PEAK: f64 = 0.62;

/// The demand of each of the two clients, in replicas. Both together and the other traffic exceed the five replicas of the
/// service that they send to. One of them and the other traffic do as well.
const OF_A_CLIENT: (f64, f64) = (0.2, 2.4);
/// The other traffic of that service.
const BESIDE_CLIENTS: (f64, f64) = (0.3, 4.2);
/// The other traffic of the service at the other place: it needs two replicas, which also answer the first requests that move
/// there, while new replicas start.
const ELSEWHERE: (f64, f64) = (0.9, 0.9);

/// Sends requests until the returned task is dropped. It starts when Envoy answers; the first two services are those of the
/// clients.
pub(crate) fn start(
    services: &[Service],
    load: Load,
    proxy: SocketAddr,
    updates: &mpsc::UnboundedSender<Update>,
) -> JoinSet<()> {
    let (services, updates) = (services.to_vec(), updates.clone());
    let mut task = JoinSet::new();
    task.spawn(async move {
        let proxy = Proxy::new(proxy);
        while proxy.get("/", None).await.is_none() {
            tokio::time::sleep(CONNECT_AGAIN).await;
        }
        let mut clients = JoinSet::new();
        for client in clients_of(&services, &load) {
            clients.spawn(client.run(proxy.clone(), Instant::now(), updates.clone()));
        }
        // A closed channel ends them.
        while clients.join_next().await.is_some() {}
    });
    task
}

fn clients_of(services: &[Service], load: &Load) -> Vec<Client> {
    let mut clients = Vec::new();
    for (index, service) in services.iter().enumerate() {
        let curves: Vec<Curve> = service.hpas.iter().filter_map(|hpa| load.curve(hpa)).collect();
        let Some(&curve) = curves.first() else { continue };
        let replicas = |pick: fn(&Curve) -> u32| curves.iter().map(|curve| f64::from(pick(curve))).sum::<f64>();
        let (lowest, highest) = match index {
            0 => BESIDE_CLIENTS,
            1 => ELSEWHERE,
            _ => (
                BUSY_AT_PEAK * replicas(|curve| curve.min),
                BUSY_AT_PEAK * replicas(|curve| curve.max),
            ),
        };
        let demand = Demand { lowest, highest, curve };
        let target = (index, service.clone());
        clients.push(Client {
            demand,
            behaviour: Behaviour::Other(target.clone()),
        });
        if let (0, Some(elsewhere)) = (index, services.get(1)) {
            let (lowest, highest) = OF_A_CLIENT;
            let demand = Demand { lowest, highest, curve };
            let behaviours = [
                Behaviour::Ignores(target.clone()),
                Behaviour::Reads {
                    home: target,
                    elsewhere: (1, elsewhere.clone()),
                    steering: Steering::default(),
                },
            ];
            clients.extend(behaviours.map(|behaviour| Client { demand, behaviour }));
        }
    }
    clients
}

#[cfg(test)]
mod tests {
    use super::*;
    use burst_lab::sample;

    #[test]
    fn the_load_exceeds_the_capacity_of_the_first_service_alone() {
        let cluster = sample::cluster().unwrap();
        let services = sample::services(&cluster);
        let clients = clients_of(&services, &Load::of_hpas(&cluster));
        // The highest demand, in replicas, if the client that reads the header has gone elsewhere.
        let peak = |index| {
            let demands = clients.iter().filter(|client| match &client.behaviour {
                Behaviour::Other((service, _)) | Behaviour::Ignores((service, _)) => *service == index,
                Behaviour::Reads {
                    elsewhere: (service, _),
                    ..
                } => *service == index,
            });
            demands.map(|client| client.demand.highest).sum::<f64>()
        };
        assert_eq!(clients.len(), services.len() + 2);
        let max = [5.0, 6.0, 9.0, 13.0];
        let is_beyond: Vec<_> = (0..4).map(|index| peak(index) > max[index]).collect();
        assert_eq!(is_beyond, [true, false, false, false]);
    }
}
