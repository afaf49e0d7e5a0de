//! What there is, for the aggregator and for clients: the documents of a Kubernetes API server.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api>

use super::accept::Form;
use super::aggregated;
use super::api::Api;
use super::catalog::{Described, Metric};
use super::json::{Quoted, list};
use super::others::{Offer, Offers};
use super::{JSON, custom, external};
use crate::config::{Config, MetricsApisConfig};
use crate::hash;
use crate::view::Answer;
use crate::view::answer::has_tag;

/// The documents of the root: those that anybody asks for, and some that only people do.
const PATHS: [&str; 13] = [
    "/apis",
    "/apis/custom.metrics.k8s.io",
    "/apis/custom.metrics.k8s.io/v1beta1",
    "/apis/custom.metrics.k8s.io/v1beta2",
    "/apis/external.metrics.k8s.io",
    "/apis/external.metrics.k8s.io/v1beta1",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
];

pub(super) fn document(body: &str) -> Answer {
    Answer::new(200, JSON, format!("{body}\n").into_bytes())
}

/// `/`, and with 404 whatever belongs to no group.
pub(super) fn paths(status: u16) -> Answer {
    let paths = list(PATHS.map(|path| format!("\"{path}\"")));
    Answer::new(status, JSON, format!("{{\"paths\":[{paths}]}}\n").into_bytes())
}

/// `/apis`: with all that there is where the form is the aggregated one, which the aggregator asks for once a minute.
pub(super) fn groups(shown: &Shown<'_>, form: Form, if_none_match: &[u8]) -> Answer {
    let answer = match form {
        Form::Aggregated(version) => aggregated::groups(shown, version),
        Form::Json | Form::Table(_) => {
            let groups = list([custom::GROUP, external::GROUP].map(|group| format!("{{{}}}", group_fields(group))));
            document(&format!(
                r#"{{"kind":"APIGroupList","apiVersion":"v1","groups":[{groups}]}}"#
            ))
        }
    };
    let etag = format!("\"{:016X}\"", hash::of_bytes(&answer.body));
    let answer = if has_tag(if_none_match, &etag) {
        Answer::empty(304)
    } else {
        answer
    };
    answer.with("etag", etag).with("vary", "Accept")
}

/// `/apis/GROUP`.
pub(super) fn group(group: &str) -> Answer {
    document(&format!(
        r#"{{"kind":"APIGroup","apiVersion":"v1",{}}}"#,
        group_fields(group)
    ))
}

fn group_fields(group: &str) -> String {
    let of_group: Vec<_> = Api::ALL.into_iter().filter(|api| api.group() == group).collect();
    let version = |api: &Api| format!(r#"{{"groupVersion":"{group}/{0}","version":"{0}"}}"#, api.version());
    let preferred = of_group.first().map(version).unwrap_or_default();
    let versions = list(of_group.iter().map(version));
    format!(r#""name":"{group}","versions":[{versions}],"preferredVersion":{preferred}"#)
}

/// `/apis/GROUP/VERSION`.
pub(super) fn resources(shown: &Shown<'_>, api: Api) -> Answer {
    let ours = shown.ours(api);
    let others = shown.offers.beside(api, &ours);
    let others = others.into_iter().map(|offer| theirs(offer, api));
    let resources = list(ours.iter().map(Resource::entry).chain(others));
    document(&format!(
        r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{}/{}","resources":[{resources}]}}"#,
        api.group(),
        api.version()
    ))
}

fn theirs(offer: &Offer, api: Api) -> String {
    let Offer {
        name,
        singular_name,
        namespaced,
        verbs,
        ..
    } = offer;
    let [name, singular_name, kind] = [name, singular_name, offer.kind(api)].map(Quoted);
    let verbs = list(verbs.iter().map(|verb| Quoted(verb)));
    format!(
        r#"{{"name":{name},"singularName":{singular_name},"namespaced":{namespaced},"kind":{kind},"verbs":[{verbs}]}}"#
    )
}

/// A resource of ours in discovery.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) name: String,
    pub(super) namespaced: bool,
    pub(super) kind: String,
    /// Whether it is a metric. What is none has no verbs.
    pub(super) is_metric: bool,
}

impl Resource {
    /// The only verb, in quotes; none of what is no metric.
    pub(super) fn verbs(&self) -> &'static str {
        if self.is_metric { r#""get""# } else { "" }
    }

    fn entry(&self) -> String {
        let Self {
            name, namespaced, kind, ..
        } = self;
        let verbs = self.verbs();
        format!(r#"{{"name":"{name}","singularName":"","namespaced":{namespaced},"kind":"{kind}","verbs":[{verbs}]}}"#)
    }
}

/// What discovery shows: what follows from the configuration, and what other adapters say.
pub(super) struct Shown<'a> {
    pub(super) config: &'a Config,
    pub(super) apis: &'a MetricsApisConfig,
    pub(super) offers: &'a Offers,
}

impl<'a> Shown<'a> {
    pub(super) fn new(config: &'a Config, apis: &'a MetricsApisConfig, offers: &'a Offers) -> Self {
        Self { config, apis, offers }
    }

    /// Our resources of a version.
    pub(super) fn ours(&self, api: Api) -> Vec<Resource> {
        match api {
            Api::External => self.external(),
            Api::CustomV1Beta1 | Api::CustomV1Beta2 => self.custom(),
        }
    }

    fn external(&self) -> Vec<Resource> {
        let resource = |name: &str, kind, is_metric| Resource {
            name: name.to_owned(),
            namespaced: true,
            kind,
            is_metric,
        };
        let metrics = Metric::all(self.apis).map(|metric| resource(metric.name(), metric.kind(), true));
        let item = resource(external::ITEM_RESOURCE, external::ITEM_KIND.to_owned(), false);
        metrics.chain([item]).collect()
    }

    fn custom(&self) -> Vec<Resource> {
        let of = |described: &Described| {
            let (name, namespaced) = (described.name(), described.is_namespaced());
            let metrics = Metric::all(self.apis).filter(|metric| described.has(*metric));
            let resource = |metric: Metric| Resource {
                name: format!("{name}/{}", metric.name()),
                namespaced,
                kind: custom::LIST_KIND.to_owned(),
                is_metric: true,
            };
            metrics.map(resource).collect::<Vec<_>>()
        };
        Described::all(self.config).iter().flat_map(of).collect()
    }
}
