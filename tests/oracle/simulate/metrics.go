package simulate

import (
	"context"
	"errors"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// readings is a metrics API that answers from one tick of a trace.
type readings struct {
	epoch time.Time
	byKey map[string]Reading
}

var _ metrics.MetricsClient = &readings{}

// set stores these readings for the metrics with the same index.
func (r *readings) set(specs []autoscalingv2.MetricSpec, values []Reading) {
	r.byKey = map[string]Reading{}
	for i, spec := range specs {
		if i < len(values) {
			r.byKey[key(spec)] = values[i]
		}
	}
}

func key(spec autoscalingv2.MetricSpec) string {
	switch spec.Type {
	case autoscalingv2.ResourceMetricSourceType:
		return "resource/" + string(spec.Resource.Name) + "/"
	case autoscalingv2.ContainerResourceMetricSourceType:
		return "resource/" + string(spec.ContainerResource.Name) + "/" + spec.ContainerResource.Container
	case autoscalingv2.PodsMetricSourceType:
		return "pods/" + spec.Pods.Metric.Name
	case autoscalingv2.ObjectMetricSourceType:
		return "object/" + spec.Object.DescribedObject.Name + "/" + spec.Object.Metric.Name
	default:
		return "external/" + spec.External.Metric.Name
	}
}

func (r *readings) get(key string) (Reading, error) {
	reading, ok := r.byKey[key]
	if !ok {
		return Reading{}, errors.New("the trace has no reading for " + key)
	}
	if reading.Error != "" {
		return Reading{}, errors.New(reading.Error)
	}
	return reading, nil
}

func (r *readings) samples(key string) (metrics.PodMetricsInfo, time.Time, error) {
	reading, err := r.get(key)
	if err != nil {
		return nil, time.Time{}, err
	}
	info := metrics.PodMetricsInfo{}
	for pod, sample := range reading.Pods {
		info[pod] = metrics.PodMetric{
			Value:     sample[0],
			Timestamp: r.epoch.Add(time.Duration(sample[1]) * time.Millisecond),
			Window:    time.Duration(sample[2]) * time.Millisecond,
		}
	}
	return info, time.Now(), nil
}

func (r *readings) GetResourceMetric(_ context.Context, resource corev1.ResourceName, _ string, _ labels.Selector, container string) (metrics.PodMetricsInfo, time.Time, error) {
	return r.samples("resource/" + string(resource) + "/" + container)
}

func (r *readings) GetRawMetric(name string, _ string, _ labels.Selector, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return r.samples("pods/" + name)
}

func (r *readings) GetObjectMetric(name string, _ string, object *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	reading, err := r.get("object/" + object.Name + "/" + name)
	return reading.Object, time.Now(), err
}

func (r *readings) GetExternalMetric(name string, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	reading, err := r.get("external/" + name)
	return reading.External, time.Now(), err
}
