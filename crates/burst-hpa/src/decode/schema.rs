//! The fields of an `autoscaling/v2` HorizontalPodAutoscaler and their types, as in
//! <https://github.com/kubernetes/api/blob/v0.36.3/autoscaling/v2/types.go>.

/// The type of a field.
#[derive(Debug)]
pub(super) enum Schema {
    Object(&'static [Field]),
    List(&'static Schema),
    /// Any keys, each with a string.
    Labels,
    String,
    Bool,
    Int32,
    Int64,
    Quantity,
    Time,
    /// Kept as it is.
    Any,
}

/// A field and what Go does with its zero value.
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub schema: &'static Schema,
    /// Go's `omitempty` on a type that is not a pointer: an empty value counts as absent.
    pub omit_empty: bool,
}

const fn keep(name: &'static str, schema: &'static Schema) -> Field {
    Field {
        name,
        schema,
        omit_empty: false,
    }
}

const fn omit(name: &'static str, schema: &'static Schema) -> Field {
    Field {
        name,
        schema,
        omit_empty: true,
    }
}

const STRINGS: Schema = Schema::List(&Schema::String);

pub(super) static HPA: Schema = Schema::Object(&[
    keep("apiVersion", &Schema::String),
    keep("kind", &Schema::String),
    keep("metadata", &METADATA),
    keep("spec", &SPEC),
    keep("status", &STATUS),
]);

static METADATA: Schema = Schema::Object(&[
    omit("name", &Schema::String),
    omit("generateName", &Schema::String),
    omit("namespace", &Schema::String),
    omit("selfLink", &Schema::String),
    omit("uid", &Schema::String),
    omit("resourceVersion", &Schema::String),
    omit("generation", &Schema::Int64),
    keep("creationTimestamp", &Schema::Time),
    keep("deletionTimestamp", &Schema::Time),
    keep("deletionGracePeriodSeconds", &Schema::Int64),
    omit("labels", &Schema::Labels),
    omit("annotations", &Schema::Labels),
    omit("ownerReferences", &Schema::List(&OWNER)),
    omit("finalizers", &STRINGS),
    omit("managedFields", &Schema::List(&MANAGED)),
]);

static OWNER: Schema = Schema::Object(&[
    keep("apiVersion", &Schema::String),
    keep("kind", &Schema::String),
    keep("name", &Schema::String),
    keep("uid", &Schema::String),
    keep("controller", &Schema::Bool),
    keep("blockOwnerDeletion", &Schema::Bool),
]);

static MANAGED: Schema = Schema::Object(&[
    omit("manager", &Schema::String),
    omit("operation", &Schema::String),
    omit("apiVersion", &Schema::String),
    keep("time", &Schema::Time),
    omit("fieldsType", &Schema::String),
    keep("fieldsV1", &Schema::Any),
    omit("subresource", &Schema::String),
]);

static SPEC: Schema = Schema::Object(&[
    keep("scaleTargetRef", &REFERENCE),
    keep("minReplicas", &Schema::Int32),
    keep("maxReplicas", &Schema::Int32),
    omit("metrics", &Schema::List(&METRIC)),
    keep("behavior", &BEHAVIOR),
]);

static REFERENCE: Schema = Schema::Object(&[
    keep("kind", &Schema::String),
    keep("name", &Schema::String),
    omit("apiVersion", &Schema::String),
]);

static METRIC: Schema = Schema::Object(&[
    keep("type", &Schema::String),
    keep(
        "object",
        &Schema::Object(&[
            keep("describedObject", &REFERENCE),
            keep("target", &TARGET),
            keep("metric", &IDENTIFIER),
        ]),
    ),
    keep(
        "pods",
        &Schema::Object(&[keep("metric", &IDENTIFIER), keep("target", &TARGET)]),
    ),
    keep(
        "resource",
        &Schema::Object(&[keep("name", &Schema::String), keep("target", &TARGET)]),
    ),
    keep(
        "containerResource",
        &Schema::Object(&[
            keep("name", &Schema::String),
            keep("target", &TARGET),
            keep("container", &Schema::String),
        ]),
    ),
    keep(
        "external",
        &Schema::Object(&[keep("metric", &IDENTIFIER), keep("target", &TARGET)]),
    ),
]);

static TARGET: Schema = Schema::Object(&[
    keep("type", &Schema::String),
    keep("value", &Schema::Quantity),
    keep("averageValue", &Schema::Quantity),
    keep("averageUtilization", &Schema::Int32),
]);

static IDENTIFIER: Schema = Schema::Object(&[keep("name", &Schema::String), keep("selector", &SELECTOR)]);

static SELECTOR: Schema = Schema::Object(&[
    omit("matchLabels", &Schema::Labels),
    omit("matchExpressions", &Schema::List(&REQUIREMENT)),
]);

static REQUIREMENT: Schema = Schema::Object(&[
    keep("key", &Schema::String),
    keep("operator", &Schema::String),
    omit("values", &STRINGS),
]);

static BEHAVIOR: Schema = Schema::Object(&[keep("scaleUp", &RULES), keep("scaleDown", &RULES)]);

static RULES: Schema = Schema::Object(&[
    keep("stabilizationWindowSeconds", &Schema::Int32),
    keep("selectPolicy", &Schema::String),
    // An empty list is refused where a missing one is filled.
    keep("policies", &Schema::List(&POLICY)),
    keep("tolerance", &Schema::Quantity),
]);

static POLICY: Schema = Schema::Object(&[
    keep("type", &Schema::String),
    keep("value", &Schema::Int32),
    keep("periodSeconds", &Schema::Int32),
]);

static STATUS: Schema = Schema::Object(&[
    keep("observedGeneration", &Schema::Int64),
    keep("lastScaleTime", &Schema::Time),
    omit("currentReplicas", &Schema::Int32),
    keep("desiredReplicas", &Schema::Int32),
    keep("currentMetrics", &Schema::List(&METRIC_STATUS)),
    omit("conditions", &Schema::List(&CONDITION)),
]);

static CONDITION: Schema = Schema::Object(&[
    keep("type", &Schema::String),
    keep("status", &Schema::String),
    keep("lastTransitionTime", &Schema::Time),
    omit("reason", &Schema::String),
    omit("message", &Schema::String),
]);

static METRIC_STATUS: Schema = Schema::Object(&[
    keep("type", &Schema::String),
    keep(
        "object",
        &Schema::Object(&[
            keep("metric", &IDENTIFIER),
            keep("current", &VALUE),
            keep("describedObject", &REFERENCE),
        ]),
    ),
    keep(
        "pods",
        &Schema::Object(&[keep("metric", &IDENTIFIER), keep("current", &VALUE)]),
    ),
    keep(
        "resource",
        &Schema::Object(&[keep("name", &Schema::String), keep("current", &VALUE)]),
    ),
    keep(
        "containerResource",
        &Schema::Object(&[
            keep("name", &Schema::String),
            keep("current", &VALUE),
            keep("container", &Schema::String),
        ]),
    ),
    keep(
        "external",
        &Schema::Object(&[keep("metric", &IDENTIFIER), keep("current", &VALUE)]),
    ),
]);

static VALUE: Schema = Schema::Object(&[
    keep("value", &Schema::Quantity),
    keep("averageValue", &Schema::Quantity),
    keep("averageUtilization", &Schema::Int32),
]);
