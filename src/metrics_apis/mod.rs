//! Answers the requests of the metrics APIs, which have a filter chain of their own.
//!
//! The crate `burst-metrics-api` parses a request and decides what happens. This module reads the request from the host and
//! carries the decision out.

mod adapter_discovery;
mod authorizer;

pub(crate) use adapter_discovery::AdapterDiscoveryTask;
pub(crate) use authorizer::PendingStream;

use crate::host::{self, CalloutAnswer};
use crate::local_reply::{self, MAX_PER_CALLBACK};
use crate::log;
use crate::shared_data::View;
use crate::vm::{self, BulkPermit};
use authorizer::ReviewSender;
use burst_metrics_api::adapters::AdapterResources;
use burst_metrics_api::connection::{self, DownstreamConnection};
use burst_metrics_api::review::{self, ReviewDecision};
use burst_metrics_api::{self as metrics, MetricSources, MetricsRequest, RoutedRequest};
use burst_model::config::{Authorization, MetricsApisConfig};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::serve::LocalReply;
use burst_model::time::Time;
use burst_shared_data::CachedRecord;
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
    Pending(PendingStream),
}

/// The metrics APIs of a root context.
pub(crate) struct MetricsApis {
    view: Rc<View>,
    /// The policies and the other adapters; without them it is the same as `view`.
    metrics_view: Rc<View>,
    /// What other adapters serve, as of the last tick.
    adapters: RefCell<CachedRecord<AdapterResources>>,
    authorizer: ReviewSender,
    has_logged_insecure: Cell<bool>,
}

impl MetricsApis {
    /// `None` if they are not configured.
    pub(crate) fn new(view: &Rc<View>, metrics_view: &Rc<View>) -> Option<Self> {
        view.config.metrics_apis.as_ref()?;
        Some(Self {
            view: view.clone(),
            metrics_view: metrics_view.clone(),
            adapters: RefCell::default(),
            authorizer: ReviewSender::default(),
            has_logged_insecure: Cell::new(false),
        })
    }

    /// Takes what the leader published of other adapters.
    pub(crate) fn refresh(&self, now: Time) {
        if !COMPILED_OUT {
            let (key, quarantine) = (&self.metrics_view.keys.adapter_resources, &self.metrics_view.quarantine);
            let mut adapters = self.adapters.borrow_mut();
            adapters.refresh(key, ItemKind::AdapterResources, quarantine, now);
        }
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
        for _ in 0..MAX_PER_CALLBACK {
            let Some(reviewed) = self.authorizer.next_completed() else {
                return;
            };
            if !host::set_effective_context(reviewed.stream) {
                continue;
            }
            let disposition = match (reviewed.outcome, self.view.config.metrics_apis.as_deref()) {
                (Ok(request), Some(apis)) => self.serve(&request, apis),
                (Err(refused), _) => reply(&refused),
                (Ok(_), None) => continue,
            };
            match disposition {
                Disposition::Answered(bulk) => reviewed.permit.bulk.set(bulk),
                Disposition::Delegated => host::resume(),
                Disposition::Pending(_) => {}
            }
        }
        self.authorizer.wake_if_completed();
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
        let request = match self.check_connection(apis).and_then(|()| parse_request(apis)) {
            Ok(request) => request,
            Err(refused) => return Some(reply(&refused)),
        };
        Some(match apis.authorization {
            Authorization::ApiServer => self.serve(&request, apis),
            Authorization::SubjectAccessReview => self.review(request, apis, stream),
        })
    }

    /// Refuses requests without mutual TLS. Every client that reaches the listener can send such requests, so only the first
    /// one is logged.
    fn check_connection(&self, apis: &MetricsApisConfig) -> Result<(), LocalReply> {
        let local_address = host::property(&["destination", "address"]).unwrap_or_default();
        let connection = DownstreamConnection {
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

    fn review(&self, request: MetricsRequest, apis: &MetricsApisConfig, stream: u32) -> Disposition {
        let bulk = Rc::default();
        match self.authorizer.authorize(request, stream, &bulk) {
            ReviewDecision::Allowed(request) => self.serve(&request, apis),
            ReviewDecision::Denied(refused) => reply(&refused),
            ReviewDecision::TooManyPending => reply(&review::too_many_pending()),
            ReviewDecision::Pending(guard) => Disposition::Pending(PendingStream::new(guard, bulk)),
        }
    }

    /// Answers an authorized request, unless it is in quarantine. The first request that needs them compiles the patterns of
    /// the policies and parses the counted requests, so a bad one could end the VM here.
    fn serve(&self, request: &MetricsRequest, apis: &MetricsApisConfig) -> Disposition {
        let policies = self.metrics_view.policies_hash.get().to_le_bytes();
        let item = Item::of_bytes(
            ItemKind::MetricsQuery,
            &[&policies[..], &request.fingerprint()].concat(),
        );
        let answered = self
            .view
            .quarantine
            .answer(item, host::now(), || self.route(request, apis));
        answered.unwrap_or_else(|| reply(&metrics::quarantined()))
    }

    fn route(&self, request: &MetricsRequest, apis: &MetricsApisConfig) -> Disposition {
        let (rates, adapters) = (self.view.rates.borrow(), self.adapters.borrow());
        let sources = MetricSources {
            config: &self.view.config,
            apis,
            cache: &self.view.cache.borrow(),
            rates: rates.rates(),
            adapter_resources: adapters.get(),
            policies: &self.metrics_view.policies.borrow(),
            now: host::now(),
        };
        match metrics::serve(&sources, request) {
            RoutedRequest::Delegated => {
                vm::stats().passed_on.count();
                Disposition::Delegated
            }
            RoutedRequest::Answered(response) => {
                if let Some((api, age)) = response.value_age {
                    vm::stats().record_age(api, age);
                }
                reply(&response.answer)
            }
        }
    }
}

fn parse_request(apis: &MetricsApisConfig) -> Result<MetricsRequest, LocalReply> {
    let headers = host::request_headers();
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    MetricsRequest::parse(headers, apis.authorization)
}

fn reply(answer: &LocalReply) -> Disposition {
    Disposition::Answered(local_reply::send_or(answer, metrics::too_many_bulk_answers))
}
