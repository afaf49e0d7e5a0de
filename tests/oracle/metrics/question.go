package main

import (
	"errors"
	"fmt"
	"sort"

	autoscaling "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	customv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	"k8s.io/metrics/pkg/client/custom_metrics"
)

// question is one call of one client.
type question struct {
	// Client is "discovery", "custom", "external", "hpa object" or "hpa external".
	Client string `json:"client"`
	// Version of the custom metrics API. If empty, the preferred one.
	Version string `json:"version"`
	// Namespace is empty for cluster-scoped objects.
	Namespace  string `json:"namespace"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name of the object. If empty, all objects that match Selector.
	Name           string `json:"name"`
	Selector       string `json:"selector"`
	Metric         string `json:"metric"`
	MetricSelector string `json:"metricSelector"`
}

// answer has either values or an error.
type answer struct {
	Values []value `json:"values,omitempty"`
	Error  *failed `json:"error,omitempty"`
}

type value struct {
	// Of is the described object as "Kind namespace/name apiVersion", or the labels of the series.
	Of       string `json:"of"`
	Metric   string `json:"metric"`
	Selector string `json:"selector,omitempty"`
	Value    string `json:"value"`
	Window   *int64 `json:"window,omitempty"`
	// Timestamp is in Unix seconds.
	Timestamp int64 `json:"timestamp,omitempty"`
}

type failed struct {
	Message string `json:"message"`
	// Reason comes from the error's metav1.Status, if there is one.
	Reason metav1.StatusReason   `json:"reason,omitempty"`
	Code   int32                 `json:"code,omitempty"`
	Detail *metav1.StatusDetails `json:"details,omitempty"`
}

func (c *clients) ask(q question) answer {
	values, err := c.call(q)
	if err != nil {
		return answer{Error: describe(err)}
	}
	return answer{Values: values}
}

func (c *clients) call(q question) ([]value, error) {
	switch q.Client {
	case "discovery":
		return c.resources()
	case "custom":
		return c.customValues(q)
	case "external":
		return c.externalValues(q)
	case "hpa object":
		return c.hpaObject(q)
	case "hpa external":
		return c.hpaExternal(q)
	default:
		return nil, fmt.Errorf("there is no client %q", q.Client)
	}
}

// resources returns the resources of the metrics groups, as discovery clients find them.
func (c *clients) resources() ([]value, error) {
	_, lists, err := c.discovery.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var found []value
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		if group.Group != "custom.metrics.k8s.io" && group.Group != "external.metrics.k8s.io" {
			continue
		}
		for _, resource := range list.APIResources {
			found = append(found, value{Of: list.GroupVersion, Metric: resource.Name, Value: fmt.Sprint(resource.Namespaced)})
		}
	}
	return found, nil
}

func (c *clients) customValues(q question) ([]value, error) {
	client, ok := c.custom[q.Version]
	if !ok {
		return nil, fmt.Errorf("there is no version %q", q.Version)
	}
	var metrics custom_metrics.MetricsInterface = client.RootScopedMetrics()
	if q.Namespace != "" {
		metrics = client.NamespacedMetrics(q.Namespace)
	}
	selectors, err := parse(q.Selector, q.MetricSelector)
	if err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(q.APIVersion, q.Kind).GroupKind()
	if q.Name == "" {
		list, err := metrics.GetForObjects(kind, selectors[0], q.Metric, selectors[1])
		if err != nil {
			return nil, err
		}
		return customAnswer(list.Items), nil
	}
	one, err := metrics.GetForObject(kind, q.Name, q.Metric, selectors[1])
	if err != nil {
		return nil, err
	}
	return customAnswer([]customv1beta2.MetricValue{*one}), nil
}

func (c *clients) externalValues(q question) ([]value, error) {
	selectors, err := parse(q.Selector, q.MetricSelector)
	if err != nil {
		return nil, err
	}
	list, err := c.external.NamespacedMetrics(q.Namespace).List(q.Metric, selectors[1])
	if err != nil {
		return nil, err
	}
	var found []value
	for _, item := range list.Items {
		found = append(found, value{
			Of:        labels.FormatLabels(item.MetricLabels),
			Metric:    item.MetricName,
			Value:     item.Value.String(),
			Window:    item.WindowSeconds,
			Timestamp: item.Timestamp.Unix(),
		})
	}
	return found, nil
}

// hpaObject queries a metric of the type Object as the controller does, which gets milli-units.
func (c *clients) hpaObject(q question) ([]value, error) {
	selectors, err := parse(q.Selector, q.MetricSelector)
	if err != nil {
		return nil, err
	}
	object := autoscaling.CrossVersionObjectReference{APIVersion: q.APIVersion, Kind: q.Kind, Name: q.Name}
	milli, at, err := c.hpa.GetObjectMetric(q.Metric, q.Namespace, &object, selectors[1])
	if err != nil {
		return nil, err
	}
	return []value{{Metric: q.Metric, Value: fmt.Sprint(milli), Timestamp: at.Unix()}}, nil
}

// hpaExternal queries a metric of the type External as the controller does.
func (c *clients) hpaExternal(q question) ([]value, error) {
	selectors, err := parse(q.Selector, q.MetricSelector)
	if err != nil {
		return nil, err
	}
	all, at, err := c.hpa.GetExternalMetric(q.Metric, q.Namespace, selectors[1])
	if err != nil {
		return nil, err
	}
	var found []value
	for _, milli := range all {
		found = append(found, value{Metric: q.Metric, Value: fmt.Sprint(milli), Timestamp: at.Unix()})
	}
	return found, nil
}

func customAnswer(items []customv1beta2.MetricValue) []value {
	var found []value
	for _, item := range items {
		object := item.DescribedObject
		found = append(found, value{
			Of:        fmt.Sprintf("%s %s/%s %s", object.Kind, object.Namespace, object.Name, object.APIVersion),
			Metric:    item.Metric.Name,
			Selector:  metav1.FormatLabelSelector(item.Metric.Selector),
			Value:     item.Value.String(),
			Window:    item.WindowSeconds,
			Timestamp: item.Timestamp.Unix(),
		})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Of < found[j].Of })
	return found
}

// parse skips empty texts, as callers of the clients do.
func parse(texts ...string) ([]labels.Selector, error) {
	selectors := make([]labels.Selector, len(texts))
	for i, text := range texts {
		selectors[i] = labels.Everything()
		if text == "" {
			continue
		}
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, err
		}
		selectors[i] = selector
	}
	return selectors, nil
}

func describe(err error) *failed {
	found := &failed{Message: err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		found.Reason = status.Status().Reason
		found.Code = status.Status().Code
		found.Detail = status.Status().Details
	}
	return found
}
