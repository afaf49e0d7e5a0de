//! Answers the requests of the metrics APIs, which have a filter chain of their own.

mod adapter_discovery;
mod authorizer;

pub(crate) use adapter_discovery::AdapterDiscovery;
pub(crate) use authorizer::PendingGuard;

use crate::host::{self, CalloutAnswer};
use crate::local_reply;
use crate::log;
use crate::view::View;
use crate::vm::{self, BulkPermit};
use adapter_discovery::KnownAdapters;
use authorizer::Authorizer;
use burst_model::config::{Authorization, MetricsApis as MetricsApisConfig};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::serve::LocalReply;
use burst_model::serve::metrics::connection::{self, Connection};
use burst_model::serve::metrics::review::{Access, Outcome, Verdict};
use burst_model::serve::metrics::{self, Reply, Request, Sources, others};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The header-only module receives no requests. This constant lets the compiler leave out the code that answers them.
const COMPILED_OUT: bool = cfg!(feature = "header-only");

/// What happened to a request of the filter chain.
pub(crate) enum Disposition {
    /// The filter has answered it. The stream holds the permit of a bulk reply until its end.
    Answered(Option<BulkPermit>),
    /// Another adapter answers it: Envoy's route leads there.
    Delegated,
    /// It waits for a SubjectAccessReview.
    Pending(PendingGuard),
}

/// The metrics APIs of a root context.
pub(crate) struct MetricsApis {
    view: Rc<View>,
    /// What other adapters serve, as of the last tick.
    adapters: RefCell<KnownAdapters>,
    authorizer: Rc<Authorizer>,
    has_logged_insecure: Cell<bool>,
}

impl MetricsApis {
    /// `None` if they are not configured.
    pub(crate) fn new(view: &Rc<View>) -> Option<Self> {
        view.config.metrics_apis.as_ref()?;
        Some(Self {
            view: view.clone(),
            adapters: RefCell::default(),
            authorizer: Rc::default(),
            has_logged_insecure: Cell::new(false),
        })
    }

    /// Takes what the leader published of other adapters.
    pub(crate) fn refresh(&self) {
        let (key, quarantine) = (&self.view.keys.adapter_resources, &self.view.quarantine);
        self.adapters.borrow_mut().refresh(key, quarantine);
    }

    /// Sends the reviews that are not sent yet, and answers a batch of the requests that have their result.
    pub(crate) fn send_reviews(&self) {
        if !COMPILED_OUT {
            self.authorizer.send(&self.view.config.api);
            self.answer_batch();
        }
    }

    /// Handles the answer to a review, or why it could not be sent.
    pub(crate) fn on_review(&self, review: &Rc<str>, answer: Result<CalloutAnswer, String>) {
        if COMPILED_OUT {
            return;
        }
        let was_sent = answer.is_ok();
        self.authorizer.complete(review, answer);
        if was_sent {
            self.answer_batch();
        } else {
            // Many reviews can fail in one callback, which may answer one batch only.
            self.authorizer.wake_if_completed();
        }
    }

    /// Answers a batch of the requests that have their result. The others are answered in a callback of their own.
    fn answer_batch(&self) {
        for _ in 0..authorizer::BATCH {
            let Some((pending, result)) = self.authorizer.next_completed() else {
                return;
            };
            if !host::set_effective_context(pending.stream) {
                continue;
            }
            match self.answer_reviewed(&pending.asked, &pending.access, &result) {
                Disposition::Answered(bulk) => pending.bulk.set(bulk),
                Disposition::Delegated => host::resume(),
                Disposition::Pending(_) => {}
            }
        }
        self.authorizer.wake_if_completed();
    }

    fn answer_reviewed(&self, asked: &Asked, access: &Access, result: &Outcome) -> Disposition {
        let Some(apis) = self.view.config.metrics_apis.as_deref() else {
            return Disposition::Answered(None);
        };
        match result {
            Ok(Verdict::Allowed) => self.serve(asked, apis),
            Ok(Verdict::Denied(reason)) => reply(&access.forbidden(reason)),
            Err(why) => reply(&Access::unreviewed(why)),
        }
    }

    /// Handles the current request, of this stream. Returns `None` if it is not on the filter chain of the metrics APIs.
    ///
    /// The headers that name a user count only on that chain and only over mutual TLS, because its listener accepts no other
    /// client than the API server's front proxy.
    pub(crate) fn handle_request(&self, stream: u32) -> Option<Disposition> {
        let apis = self.view.config.metrics_apis.as_deref()?;
        let chain = host::property(&["xds", "filter_chain_name"])?;
        if chain != apis.filter_chain.as_bytes() {
            return None;
        }
        if let Err(refused) = self.check_connection(apis) {
            return Some(reply(&refused));
        }
        let asked = Asked::read(apis);
        Some(match apis.authorization {
            Authorization::ApiServer => self.serve(&asked, apis),
            Authorization::SubjectAccessReview => self.review(asked, apis, stream),
        })
    }

    /// Refuses requests without mutual TLS. Every client that reaches the listener can send such requests, so only the first
    /// one is logged.
    fn check_connection(&self, apis: &MetricsApisConfig) -> Result<(), LocalReply> {
        let local_address = host::property(&["destination", "address"]).unwrap_or_default();
        let connection = Connection {
            is_mutual_tls: host::is_mutual_tls(),
            local_address: &local_address,
        };
        connection::check(apis, connection).inspect_err(|_| {
            vm::stats().insecure_refused.count();
            if !self.has_logged_insecure.replace(true) {
                log::warn(format_args!(
                    "requests of the metrics APIs are refused, because they come to {:?} without mutual TLS: \
                     let the listener of filter chain {:?} require a client certificate",
                    String::from_utf8_lossy(&local_address),
                    apis.filter_chain,
                ));
            }
        })
    }

    fn review(&self, asked: Asked, apis: &MetricsApisConfig, stream: u32) -> Disposition {
        let headers = host::request_headers();
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        let access = match Access::of(&asked.method, &asked.path, headers) {
            Ok(access) => access,
            Err(refused) => return reply(&refused),
        };
        if access.is_exempt() {
            return self.serve(&asked, apis);
        }
        let question = access.question();
        match self.authorizer.verdict(&question) {
            Some(Verdict::Allowed) => self.serve(&asked, apis),
            Some(Verdict::Denied(reason)) => reply(&access.forbidden(&reason)),
            None => match self.authorizer.enqueue(question, stream, asked, access) {
                Ok(guard) => Disposition::Pending(guard),
                Err(refused) => reply(&refused),
            },
        }
    }

    /// Answers an authorized request, unless it is in quarantine. The first request that needs them compiles the patterns of
    /// the policies and parses the counted requests, so a bad one could end the VM here.
    fn serve(&self, asked: &Asked, apis: &MetricsApisConfig) -> Disposition {
        let bytes = [
            &self.view.policies_hash.get().to_le_bytes(),
            &asked.path[..],
            &asked.user,
        ]
        .concat();
        let request = Item::of_bytes(ItemKind::Query, &bytes);
        let answered = self.view.quarantine.answer(request, || self.route(asked, apis));
        answered.unwrap_or_else(|| reply(&metrics::left_alone()))
    }

    fn route(&self, asked: &Asked, apis: &MetricsApisConfig) -> Disposition {
        let request = Request {
            method: &asked.method,
            path: &asked.path,
            accept: &asked.accept,
            if_none_match: &asked.if_none_match,
            user: &asked.user,
            groups: &asked.groups,
        };
        let rates = self.view.rates.borrow();
        let sources = Sources {
            picture: &self.view.cache.borrow(),
            rates: rates.rates(),
            offers: &self.adapters.borrow().offers,
            enforced: &self.view.policies.borrow(),
            now: host::now(),
        };
        match others::goes_on(&self.view.config, apis, sources, request) {
            Ok(false) => {}
            Ok(true) => {
                vm::stats().passed_on.count();
                return Disposition::Delegated;
            }
            Err(refused) => return reply(&refused),
        }
        let Reply { answer, age } = metrics::answer(&self.view.config, apis, sources, request);
        if let Some((api, age)) = age {
            vm::stats().record_age(api, age);
        }
        reply(&answer)
    }
}

fn reply(answer: &LocalReply) -> Disposition {
    Disposition::Answered(local_reply::send_or(answer, metrics::busy))
}

/// What a request says that counts for its answer.
struct Asked {
    method: Vec<u8>,
    path: Vec<u8>,
    accept: Vec<u8>,
    if_none_match: Vec<u8>,
    user: Vec<u8>,
    /// Where policies want to know them. One may have a comma in its name, so they are taken as they came, a header
    /// each.
    groups: Vec<String>,
}

impl Asked {
    /// Of the current request.
    fn read(apis: &MetricsApisConfig) -> Self {
        let header = |name| host::request_header(name).unwrap_or_default();
        Self {
            method: header(":method"),
            path: header(":path"),
            accept: header("accept"),
            if_none_match: header("if-none-match"),
            user: header("x-remote-user"),
            groups: apis.policies.as_ref().map(|_| groups()).unwrap_or_default(),
        }
    }
}

fn groups() -> Vec<String> {
    let headers = host::request_headers().into_iter();
    let groups = headers.filter(|(name, _)| name == "x-remote-group");
    groups
        .map(|(_, group)| String::from_utf8_lossy(&group).into_owned())
        .collect()
}
