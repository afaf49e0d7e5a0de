// Command formats reads and chooses the formats of the Kubernetes API with the code of kube-apiserver and of its clients.
// It reads a question per line and writes an answer per line, both as JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	discoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	customv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	customv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
)

// question is either about a header or about a body.
type question struct {
	// Accept is the header of a request. Transforms are the kinds that the endpoint offers in place of its own.
	Accept     string   `json:"accept"`
	Transforms []string `json:"transforms"`
	// ContentType and Body are those of a response.
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
}

// answer has the chosen format, the object in the body, or an error.
type answer struct {
	MediaType string         `json:"mediaType,omitempty"`
	Transform string         `json:"transform,omitempty"`
	Object    runtime.Object `json:"object,omitempty"`
	Error     string         `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	codecs, err := newCodecs()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		if err := encoder.Encode(ask(codecs, q)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func newCodecs() (serializer.CodecFactory, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme,
		discoveryv2.AddToScheme, discoveryv2beta1.AddToScheme,
		customv1beta1.AddToScheme, customv1beta2.AddToScheme, externalv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return serializer.CodecFactory{}, err
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict), nil
}

func ask(codecs serializer.CodecFactory, q question) answer {
	if q.ContentType == "" {
		return choose(codecs, q)
	}
	object, err := decode(codecs, q)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: object}
}

func choose(codecs serializer.CodecFactory, q question) answer {
	options, ok := negotiation.NegotiateMediaTypeOptions(q.Accept, codecs.SupportedMediaTypes(), restrictions(q.Transforms))
	if !ok {
		return answer{Error: "not acceptable"}
	}
	chosen := answer{MediaType: options.Accepted.MediaType}
	if options.Convert != nil {
		chosen.Transform = options.Convert.Kind
	}
	return chosen
}

func decode(codecs serializer.CodecFactory, q question) (runtime.Object, error) {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), q.ContentType)
	if !ok {
		return nil, fmt.Errorf("there is no format %q", q.ContentType)
	}
	decoder := info.StrictSerializer
	if decoder == nil {
		decoder = info.Serializer
	}
	object, kind, err := decoder.Decode(q.Body, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	return object, nil
}

// restrictions are the kinds that an endpoint offers in place of its own.
type restrictions []string

func (r restrictions) AllowsMediaTypeTransform(_, subtype string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return true
	}
	for _, kind := range r {
		switch {
		case target.Kind != kind:
		case kind == "Table":
			// As in k8s.io/apiserver/pkg/endpoints/handlers.RequestScope.
			return target.Group == metav1.GroupName && (target.Version == "v1" || target.Version == "v1beta1") &&
				(subtype == "json" || subtype == "yaml")
		default:
			return target.Group == discoveryv2.GroupName && (target.Version == "v2" || target.Version == "v2beta1")
		}
	}
	return false
}

func (restrictions) AllowsServerVersion(string) bool { return true }

func (restrictions) AllowsStreamSchema(string) bool { return true }
