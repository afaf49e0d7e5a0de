package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
)

// question holds one body, as JSON or as YAML. The text is passed on unchanged.
type question struct {
	JSON string `json:"json"`
	YAML string `json:"yaml"`
}

type fieldError struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

type admission struct {
	// Decode is the message of a 400.
	Decode string `json:"decode,omitempty"`
	// Strict holds the parts of a 400 that only fieldValidation=Strict produces.
	Strict []string `json:"strict,omitempty"`
	// Errors are the causes of a 422.
	Errors []fieldError `json:"errors,omitempty"`
	// Object is the object that would be stored, as autoscaling/v2.
	Object json.RawMessage `json:"object,omitempty"`
}

var (
	kind     = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	internal = schema.GroupVersion{Group: "autoscaling", Version: runtime.APIVersionInternal}
	info     = &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version,
		Resource: "horizontalpodautoscalers", Namespace: "default",
	}
)

func admit(line []byte) (any, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	mediaType, body := runtime.ContentTypeJSON, asked.JSON
	if asked.YAML != "" {
		mediaType, body = runtime.ContentTypeYAML, asked.YAML
	}
	hpa, refusal, err := decode(mediaType, []byte(body))
	if err != nil || refusal != nil {
		return refusal, err
	}
	if errs := validate(hpa); len(errs) > 0 {
		return admission{Errors: fieldErrors(errs)}, nil
	}
	encoder := legacyscheme.Codecs.EncoderForVersion(serializer(runtime.ContentTypeJSON).Serializer, kind.GroupVersion())
	object, err := runtime.Encode(encoder, hpa)
	return admission{Object: object}, err
}

func serializer(mediaType string) runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), mediaType)
	return info
}

// decode follows createHandler: the strict serializer, defaults, then the internal version.
func decode(mediaType string, body []byte) (*autoscaling.HorizontalPodAutoscaler, any, error) {
	decoder := legacyscheme.Codecs.DecoderToVersion(serializer(mediaType).StrictSerializer, internal)
	object, _, err := decoder.Decode(body, &kind, &autoscaling.HorizontalPodAutoscaler{})
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		refusal := admission{Decode: err.Error()}
		for _, part := range strict.Errors() {
			refusal.Strict = append(refusal.Strict, part.Error())
		}
		return nil, refusal, nil
	}
	if err != nil {
		return nil, admission{Decode: err.Error()}, nil
	}
	hpa, ok := object.(*autoscaling.HorizontalPodAutoscaler)
	if !ok {
		return nil, admission{Decode: fmt.Sprintf("%T is not a HorizontalPodAutoscaler", object)}, nil
	}
	return hpa, nil, nil
}

// validate follows rest.BeforeCreate, which would turn the errors into text.
func validate(hpa *autoscaling.HorizontalPodAutoscaler) field.ErrorList {
	if hpa.Namespace == "" {
		hpa.Namespace = info.Namespace
	}
	if hpa.Name == "" && hpa.GenerateName != "" {
		hpa.Name = horizontalpodautoscaler.Strategy.GenerateName(hpa.GenerateName)
	}
	ctx := genericapirequest.WithNamespace(context.Background(), hpa.Namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, info)
	strategy := horizontalpodautoscaler.Strategy
	strategy.PrepareForCreate(ctx, hpa)
	if errs := strategy.Validate(ctx, hpa); len(errs) > 0 {
		return errs
	}
	return validation.ValidateObjectMetaAccessor(hpa, strategy.NamespaceScoped(), path.ValidatePathSegmentName, field.NewPath("metadata"))
}

func fieldErrors(errs field.ErrorList) []fieldError {
	var all []fieldError
	for _, err := range errs {
		all = append(all, fieldError{Type: string(err.Type), Field: err.Field, Detail: err.Detail})
	}
	return all
}
