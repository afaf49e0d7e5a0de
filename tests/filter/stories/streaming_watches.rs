//! The filter as an upstream filter of the API server's cluster: it reads each change while its callout is open.

use super::kube::Kube;
use super::{FULL, SECOND, logged};
use crate::host::{Answer, Callout, ChunkedBody, FakeEnvoy, Response, UpstreamFilter, Vm};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PLAIN: &str = r#"{"cluster":"kube_api"}"#;

/// Another configuration that reads the same resources.
const OTHER: &str = r#"{"cluster":"kube_api","target_percent":40}"#;

/// The filters whose streams are in the VM of the callout.
const IN_THE_SAME_VM: [UpstreamFilter; 3] = [
    UpstreamFilter::SharedRoot,
    UpstreamFilter::OwnRootFirst,
    UpstreamFilter::OwnRootLast,
];

/// A watch of more seconds than any window is a stream.
const SHORTEST_STREAM: u64 = 300;

/// An API server that leaves watches open.
#[derive(Clone)]
struct Server {
    kube: Kube,
    streams: Arc<Mutex<Vec<Stream>>>,
}

/// A watch that the server has accepted.
struct Stream {
    resource: String,
    /// The resource version after the last event.
    version: usize,
    body: ChunkedBody,
}

impl Server {
    fn new(kube: Kube) -> Self {
        Self {
            kube,
            streams: Arc::default(),
        }
    }

    fn answer(&self, callout: &Callout) -> Answer {
        let (path, query) = callout.path().split_once('?').unwrap();
        let option = |name: &str| {
            query
                .split('&')
                .find_map(|option| option.strip_prefix(name))
                .unwrap_or("")
        };
        let seconds: u64 = option("timeoutSeconds=").parse().unwrap_or(0);
        if seconds < SHORTEST_STREAM {
            return self.kube.answer(callout);
        }
        self.kube.note_request(callout);
        let resource = path.rsplit('/').next().unwrap();
        let (events, version) = match option("resourceVersion=").parse() {
            Ok(from) => self.kube.events_since(resource, from),
            Err(_) => self.kube.initial_events(resource),
        };
        let body = ChunkedBody::default();
        body.send(events);
        self.streams.lock().unwrap().push(Stream {
            resource: resource.to_owned(),
            version,
            body: body.clone(),
        });
        Answer::Chunked(Response::json(""), body)
    }

    /// Changes the load, and sends the event on each open stream.
    fn scale(&self, current: u32) {
        self.kube.scale("shop/web", current);
        for stream in self.streams.lock().unwrap().iter_mut() {
            let (events, version) = self.kube.events_since(&stream.resource, stream.version);
            stream.body.send(events);
            stream.version = version;
        }
    }

    /// The number of open streams of each resource that has any.
    fn open(&self) -> BTreeMap<String, usize> {
        let streams = self.streams.lock().unwrap();
        let mut open = BTreeMap::new();
        for stream in streams.iter().filter(|stream| stream.body.is_received()) {
            *open.entry(stream.resource.clone()).or_default() += 1;
        }
        open
    }

    #[track_caller]
    fn has_one_stream_each(&self) {
        let resources = ["deployments", "horizontalpodautoscalers", "services", "statefulsets"];
        assert_eq!(self.open(), resources.map(|resource| (resource.to_owned(), 1)).into());
    }

    /// Ends the open streams as at the end of their time.
    fn end_streams(&self) {
        for stream in self.streams.lock().unwrap().iter() {
            stream.body.end();
        }
    }
}

fn envoy(filter: UpstreamFilter, server: &Server) -> FakeEnvoy {
    let server = server.clone();
    FakeEnvoy::new(FULL)
        .config(PLAIN)
        .cluster("kube_api")
        .upstream_filter("kube_api", filter)
        .kube(move |callout| server.answer(callout))
}

#[track_caller]
fn serves(vm: &Vm, current: u32) {
    let seen = vm.response("web.shop");
    let header = seen.header("x-burst").unwrap_or_default();
    assert!(header.contains(&format!("current-load={current},")), "{header:?}");
}

fn is_list(path: &str) -> bool {
    !path.contains("watch=1") || path.contains("sendInitialEvents")
}

#[test]
fn a_change_shows_while_the_callout_that_brings_it_is_open() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let (main, worker) = (envoy.main_thread(), envoy.worker());
        envoy.advance(Duration::from_secs(2));
        assert_eq!(server.kube.take_requests().len(), 4, "{filter:?}: no other list");
        for current in [3, 2, 4] {
            server.scale(current);
            // The leader reads it at once, and the worker takes it in its next tick.
            main.receive();
            envoy.advance(SECOND);
            serves(&worker, current);
        }
        server.has_one_stream_each();
        assert_eq!(server.kube.take_requests(), [""; 0], "{filter:?}");
        assert_eq!(
            logged(&envoy),
            [
                "reading the Kubernetes API by streams: this filter is also an upstream filter of the Envoy cluster \
                 \"kube_api\""
            ],
            "{filter:?}"
        );
    }
}

/// The server checks what each request accepts: of pods the metadata, as a list and as a watch.
#[test]
fn the_metadata_of_pods_and_their_addresses_are_streamed() {
    let kube = Kube::new();
    kube.set_address("shop/web", "10.0.0.1");
    let server = Server::new(kube.clone());
    let pods = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics"},"requests":{"pods":true}}"#;
    let envoy = envoy(UpstreamFilter::SharedRoot, &server).config(pods);
    let _main = envoy.main_thread();
    envoy.advance(Duration::from_secs(2));
    let requested = kube.take_requests();
    assert_eq!(
        requested.iter().filter(|path| is_list(path)).count(),
        6,
        "{requested:?}"
    );
    let open = server.open();
    assert_eq!((open.get("pods"), open.get("endpointslices")), (Some(&1), Some(&1)));
    assert_eq!(envoy.stat("burst_unreadable_pods"), Some(0));
    assert_eq!(envoy.stat("burst_objects"), Some(5));
}

#[test]
fn a_filter_in_another_vm_leaves_windows_as_they_are() {
    let server = Server::new(Kube::new());
    let envoy = envoy(UpstreamFilter::OtherVm, &server);
    let (_main, worker) = (envoy.main_thread(), envoy.worker());
    envoy.advance(Duration::from_secs(3));
    serves(&worker, 1);
    server.scale(3);
    envoy.advance(Duration::from_secs(7));
    serves(&worker, 3);
    assert_eq!(server.open(), BTreeMap::new(), "no stream");
    assert!(
        logged(&envoy)[0].starts_with("watching in windows"),
        "{:?}",
        logged(&envoy)
    );
}

#[test]
fn reading_continues_in_windows_when_the_upstream_filter_moves_to_another_vm_and_by_streams_when_it_is_back() {
    let server = Server::new(Kube::new());
    let envoy = envoy(UpstreamFilter::SharedRoot, &server);
    let (_main, worker) = (envoy.main_thread(), envoy.worker());
    envoy.advance(Duration::from_secs(90));
    server.has_one_stream_each();
    server.kube.take_requests();

    let envoy = envoy.upstream_filter("kube_api", UpstreamFilter::OtherVm);
    server.scale(2);
    envoy.advance(SECOND);
    serves(&worker, 2);
    server.end_streams();
    for current in [3, 4] {
        server.scale(current);
        envoy.advance(Duration::from_secs(8));
        serves(&worker, current);
    }
    assert_eq!(server.open(), BTreeMap::new());

    let envoy = envoy.upstream_filter("kube_api", UpstreamFilter::SharedRoot);
    envoy.advance(Duration::from_secs(90));
    server.has_one_stream_each();
    server.scale(5);
    envoy.advance(SECOND);
    serves(&worker, 5);
    assert!(!server.kube.take_requests().iter().any(|path| is_list(path)), "no list");
    let modes: Vec<_> = logged(&envoy)
        .iter()
        .map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        modes,
        [
            "reading the Kubernetes",
            "watching in windows",
            "reading the Kubernetes"
        ]
    );
}

#[test]
fn a_callout_without_an_owner_ends_after_its_short_timeout_and_its_late_answer_is_ignored() {
    let server = Server::new(Kube::new());
    let envoy = envoy(UpstreamFilter::OtherVm, &server);
    let worker = envoy.worker();
    server.kube.fail("horizontalpodautoscalers", || Answer::Never);
    envoy.advance(SECOND);
    let hanging = worker.callouts();
    assert_eq!(hanging.len(), 1, "the other lists were read");
    assert!(
        hanging[0].timeout > Some(Duration::from_secs(SHORTEST_STREAM)),
        "Envoy would wait as long as for a stream"
    );
    // A load that the server never had.
    let late = Kube::new().with("shop/web", 4, 5).answer(&hanging[0]);
    server.kube.heal();
    server.kube.take_requests();
    envoy.advance(Duration::from_secs(30));
    serves(&worker, 1);
    let asked = server.kube.take_requests();
    assert!(
        asked.iter().any(|path| path == hanging[0].path()),
        "it was sent again: {asked:?}"
    );
    assert_eq!(envoy.stat("burst_poll_timeout_total"), Some(1));

    let is_late = |callout: &Callout| callout.path() == hanging[0].path();
    assert_eq!(worker.callouts().iter().filter(|callout| is_late(callout)).count(), 1);
    let generation = envoy.stat("burst_snapshot_generation");
    worker.reply(&hanging[0], late);
    worker.tick();
    assert!(!worker.callouts().iter().any(is_late));
    assert_eq!(envoy.stat("burst_snapshot_generation"), generation);
    serves(&worker, 1);
}

#[test]
fn a_leader_whose_term_ends_closes_its_streams_and_its_successor_continues_them() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let worker = envoy.worker();
        envoy.advance(Duration::from_secs(2));
        server.has_one_stream_each();
        server.kube.take_requests();
        let main = envoy.main_thread();
        // A thread that serves requests hands over the lease.
        serves(&worker, 1);
        envoy.advance(Duration::from_secs(20));
        assert_eq!((worker.callouts().len(), main.callouts().len()), (0, 4), "{filter:?}");
        server.has_one_stream_each();
        server.scale(3);
        envoy.advance(SECOND);
        serves(&worker, 3);
        // Each stream continues from the checkpoint.
        let asked = server.kube.take_requests();
        assert_eq!(
            (asked.len(), asked.iter().any(|path| is_list(path))),
            (4, false),
            "{filter:?}: {asked:?}"
        );
        assert!(worker.alive() && main.alive(), "{filter:?}");
    }
}

#[test]
fn a_new_configuration_continues_the_streams_of_the_one_before() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let worker = envoy.worker();
        let old = worker.root();
        envoy.advance(Duration::from_secs(2));
        server.kube.take_requests();
        worker
            .configure(r#"{"cluster":"kube_api","header":{"name":"x-burst"}}"#)
            .unwrap();
        envoy.advance(Duration::from_secs(20));
        server.has_one_stream_each();
        worker.retire(old);
        envoy.advance(Duration::from_secs(20));
        server.has_one_stream_each();
        server.scale(3);
        envoy.advance(SECOND);
        serves(&worker, 3);
        assert!(
            !server.kube.take_requests().iter().any(|path| is_list(path)),
            "{filter:?}"
        );

        // Other settings have another leader, which reads for itself.
        worker.configure(OTHER).unwrap();
        envoy.advance(Duration::from_secs(20));
        server.scale(2);
        envoy.advance(SECOND);
        serves(&worker, 2);
        assert!(
            !server.kube.take_requests().iter().any(|path| is_list(path)),
            "{filter:?}: from the checkpoint"
        );
    }
}

#[test]
fn the_streams_of_a_leader_that_dies_are_continued_without_a_list() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let (main, worker) = (envoy.main_thread(), envoy.worker());
        envoy.advance(Duration::from_secs(2));
        let leader = if main.callouts().is_empty() { &worker } else { &main };
        assert_eq!(leader.callouts().len(), 4);
        server.kube.take_requests();
        leader.kill();
        assert_eq!(server.open(), BTreeMap::new());
        server.scale(3);
        envoy.advance(Duration::from_secs(60));
        server.has_one_stream_each();
        serves(&worker, 3);
        assert!(
            !server.kube.take_requests().iter().any(|path| is_list(path)),
            "{filter:?}"
        );
    }
}

#[test]
fn streams_that_bring_nothing_any_more_are_given_up_and_continued() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let worker = envoy.worker();
        envoy.advance(Duration::from_secs(2));
        server.kube.take_requests();
        // The event does not reach the streams, and neither does a bookmark.
        server.kube.scale("shop/web", 3);
        envoy.advance(Duration::from_secs(100));
        assert!(worker.alive(), "{filter:?}");
        serves(&worker, 3);
        server.has_one_stream_each();
        server.scale(4);
        envoy.advance(SECOND);
        serves(&worker, 4);
        assert!(
            !server.kube.take_requests().iter().any(|path| is_list(path)),
            "{filter:?}"
        );
    }
}

#[test]
fn the_responses_of_streams_are_no_responses_of_the_proxy() {
    for filter in IN_THE_SAME_VM {
        let server = Server::new(Kube::new());
        let envoy = envoy(filter, &server);
        let worker = envoy.worker();
        envoy.advance(Duration::from_secs(3));
        server.has_one_stream_each();
        let names = envoy
            .stats()
            .into_iter()
            .filter(|name| name.starts_with("burst_header_"));
        let counted: Vec<_> = names.filter(|name| envoy.stat(name) != Some(0)).collect();
        assert_eq!(counted, [""; 0], "{filter:?}");
        // The lease does not leave a thread that has only read.
        let main = envoy.main_thread();
        envoy.advance(Duration::from_secs(60));
        assert_eq!((worker.callouts().len(), main.callouts().len()), (4, 0), "{filter:?}");
    }
}
