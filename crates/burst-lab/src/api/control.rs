//! `/lab/…`: controls the simulated API from another process. It needs no token.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{AccessConfig, Injection, KubeApi, StreamFault, WatchConfig, response};

/// The help text of the control requests.
const USAGE: &str = "\
GET    /lab/requests            counts by resource and client, newest requests
DELETE /lab/requests            clear both
GET    /lab/fault               the faults in force
PUT    /lab/fault               {\"resource\":\"services\",\"fault\":\"hang\",\"times\":1}
DELETE /lab/fault[?resource=R]  clear all faults, or those of one resource
GET    /lab/watches             how watches are served, how many are open
PUT    /lab/watches             {\"watchList\":false,\"bookmarkPeriod\":1000}
PUT    /lab/watches/fault       {\"resource\":\"services\",\"fault\":{\"end\":{}}}
GET    /lab/access              tokens and rules
PUT    /lab/access              {\"tokens\":{\"TOKEN\":\"USER\"},
                                 \"rules\":{\"USER\":[RBAC RULE]}}
POST   /lab/objects             apply YAML or JSON
DELETE /lab/objects?resource=R&object=NAMESPACE/NAME
PUT    /lab/replicas            {\"hpa\":\"NAMESPACE/NAME\",\"currentReplicas\":3}
POST   /lab/compact             expire continue tokens and open watches

\"watchList\" is the feature gate. \"bookmarkPeriod\" is in milliseconds.

A fault applies to a resource such as \"services\", or to all with \"*\". Without
\"times\" it stays until you clear it. With \"verb\":\"watch\" only watches fail.
Faults of new requests, until cleared:
  \"unauthorized\" \"forbidden\" \"notFound\" \"gone\" \"internalError\" \"unavailable\"
  {\"tooManyRequests\":{\"retryAfter\":5}}
  \"hang\" \"stall\" \"reset\" \"resetMidway\" {\"trickle\":{\"seconds\":60}}
  \"truncate\" \"notJson\" \"notText\" \"otherKind\"
  {\"malformedObject\":{\"object\":\"NAMESPACE/NAME\"}} {\"padding\":{\"bytes\":100000}}
  {\"also\":{\"objects\":[\"{}\"]}}
  \"endless\" {\"largeSelectors\":{\"namespace\":\"NAMESPACE\",\"bytes\":970000}}
  {\"stream\":STREAM_FAULT}

A STREAM_FAULT is a fault of a watch after it has opened. \"after\" is the number
of events before the fault; the default is 0. /lab/watches/fault applies it to
the watches that are open now:
  {\"cut\":{\"bytes\":100}} {\"end\":{\"after\":0}} {\"expired\":{\"after\":0}}
  {\"silent\":{\"after\":0}} {\"silentConnection\":{\"after\":0}}
  {\"drip\":{\"milliseconds\":1000}} {\"longName\":{\"characters\":100000}}
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenWatchFault {
    resource: String,
    fault: StreamFault,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Replicas {
    hpa: String,
    current_replicas: u32,
}

type ControlResult = Result<Response<Bytes>, String>;

impl KubeApi {
    pub(super) fn control(&self, path: &str, request: &Request<Bytes>) -> Response<Bytes> {
        let body = request.body();
        let query = request.uri().query().unwrap_or_default();
        let outcome = match (request.method(), path) {
            (&Method::GET, "requests") => self.logged_requests(),
            (&Method::DELETE, "requests") => ok_after(|| self.requests.clear()),
            (&Method::GET, "fault") => json_response(&json!(self.faults.pending())),
            (&Method::PUT, "fault") => parse(body).and_then(|fault: Injection| ok_after(|| self.faults.add(fault))),
            (&Method::DELETE, "fault") => ok_after(|| self.clear_faults(query_parameter(query, "resource"))),
            (&Method::GET, "watches") => json_response(&json!({
                "config": self.watches.config(),
                "open": self.watches.counts(),
            })),
            (&Method::PUT, "watches") => {
                parse(body).and_then(|config: WatchConfig| ok_after(|| self.watches.configure(config)))
            }
            (&Method::PUT, "watches/fault") => parse(body).and_then(|wanted: OpenWatchFault| {
                let hit = self.watches.inject(&wanted.resource, wanted.fault);
                json_response(&json!({ "watches": hit }))
            }),
            (&Method::GET, "access") => json_response(&json!(self.access.config())),
            (&Method::PUT, "access") => {
                parse(body).and_then(|config: AccessConfig| ok_after(|| self.access.replace(config)))
            }
            (&Method::POST, "objects") => self.apply(body),
            (&Method::DELETE, "objects") => self.delete(query),
            (&Method::PUT, "replicas") => parse(body).and_then(|replicas: Replicas| self.scale(&replicas)),
            (&Method::POST, "compact") => ok_after(|| self.cluster.compact()),
            (_, "") => Ok(response::text(StatusCode::OK, USAGE)),
            _ => return response::text(StatusCode::NOT_FOUND, USAGE),
        };
        outcome.unwrap_or_else(|error| response::text(StatusCode::BAD_REQUEST, &format!("{error}\n")))
    }

    fn logged_requests(&self) -> ControlResult {
        json_response(&json!({ "counts": self.requests.counts(), "seen": self.requests.entries() }))
    }

    fn clear_faults(&self, resource: Option<String>) {
        match resource {
            Some(resource) => self.faults.clear_resource(&resource),
            None => self.faults.clear(),
        }
    }

    fn apply(&self, body: &[u8]) -> ControlResult {
        let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
        let version = self.cluster.apply_yaml(text).map_err(|error| error.to_string())?;
        json_response(&json!({ "resourceVersion": version.to_string() }))
    }

    fn delete(&self, query: &str) -> ControlResult {
        let resource = query_parameter(query, "resource").ok_or("the query wants resource=R")?;
        let object = query_parameter(query, "object").ok_or("the query wants object=NAMESPACE/NAME")?;
        if self.cluster.delete(&resource, &object) {
            ok_after(|| ())
        } else {
            Err(format!("{resource} {object:?} not found"))
        }
    }

    fn scale(&self, wanted: &Replicas) -> ControlResult {
        let scaled = self.cluster.set_current_replicas(&wanted.hpa, wanted.current_replicas);
        let version = scaled.map_err(|error| error.to_string())?;
        json_response(&json!({ "resourceVersion": version.to_string() }))
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn json_response(value: &Value) -> ControlResult {
    Ok(response::json(StatusCode::OK, value, true))
}

fn ok_after(action: impl FnOnce()) -> ControlResult {
    action();
    Ok(response::text(StatusCode::OK, "ok\n"))
}

fn query_parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}
