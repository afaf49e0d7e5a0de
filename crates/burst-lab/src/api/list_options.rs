//! Defaults and validation of ListOptions, with the messages of kube-apiserver v1.36.3.

use super::query::Query;
use super::status::{Cause, Status};

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

/// Sets the defaults of a request, and then refuses it if its parameters do not fit together.
pub(super) fn complete(query: &mut Query, watch_list: bool) -> Result<(), Status> {
    let starts_with_current_objects = query.resource_version.unwrap_or(0) == 0;
    let says_nothing = query.send_initial_events.is_none() && query.resource_version_match.is_empty();
    if watch_list && query.watch && says_nothing && starts_with_current_objects {
        query.send_initial_events = Some(true);
        NOT_OLDER_THAN.clone_into(&mut query.resource_version_match);
    }
    let causes = if query.watch {
        watch_causes(query, watch_list)
    } else {
        list_causes(query)
    };
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid_list_options(causes))
    }
}

fn watch_causes(query: &Query, watch_list: bool) -> Vec<Cause> {
    let found = query.resource_version_match.as_str();
    let mut causes = Vec::new();
    if query.send_initial_events.is_some() {
        if found != NOT_OLDER_THAN {
            causes.push(match_forbidden(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        if !watch_list {
            causes.push(Cause::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            ));
        }
    }
    if !found.is_empty() {
        if query.send_initial_events.is_none() {
            causes.push(match_forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if found != NOT_OLDER_THAN {
            causes.push(match_unsupported(found, r#""NotOlderThan""#));
        }
        causes.extend(match_with_continue(query));
    }
    causes
}

fn list_causes(query: &Query) -> Vec<Cause> {
    let found = query.resource_version_match.as_str();
    let mut causes = Vec::new();
    if !found.is_empty() {
        if query.resource_version.is_none() {
            causes.push(match_forbidden(
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        causes.extend(match_with_continue(query));
        if ![EXACT, NOT_OLDER_THAN].contains(&found) {
            causes.push(match_unsupported(found, r#""Exact", "NotOlderThan", """#));
        }
        if found == EXACT && query.resource_version == Some(0) {
            causes.push(match_forbidden(
                r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
            ));
        }
    }
    if query.send_initial_events.is_some() {
        causes.push(Cause::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    causes
}

fn match_with_continue(query: &Query) -> Option<Cause> {
    let message = "resourceVersionMatch is forbidden when continue is provided";
    query.continue_token.as_ref().map(|_| match_forbidden(message))
}

fn match_forbidden(message: &str) -> Cause {
    Cause::forbidden("resourceVersionMatch", message)
}

fn match_unsupported(found: &str, supported: &str) -> Cause {
    Cause::unsupported("resourceVersionMatch", found, supported)
}
