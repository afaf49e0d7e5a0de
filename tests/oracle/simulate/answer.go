package simulate

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// answer converts the status to the format of a trace.
func answer(status *autoscalingv2.HorizontalPodAutoscalerStatus, replicas int32, epoch time.Time) Answer {
	answer := Answer{
		Replicas:   replicas,
		Current:    status.CurrentReplicas,
		Desired:    status.DesiredReplicas,
		Conditions: []Condition{},
	}
	if status.LastScaleTime != nil {
		last := status.LastScaleTime.Sub(epoch).Milliseconds()
		answer.LastScale = &last
	}
	for _, metric := range status.CurrentMetrics {
		answer.Metrics = append(answer.Metrics, metricValue(metric))
	}
	for _, condition := range status.Conditions {
		answer.Conditions = append(answer.Conditions, Condition{
			Type:    string(condition.Type),
			Status:  string(condition.Status),
			Reason:  condition.Reason,
			Message: condition.Message,
			Since:   condition.LastTransitionTime.Sub(epoch).Milliseconds(),
		})
	}
	return answer
}

// metricValue is nil for the empty status of a metric that failed.
func metricValue(status autoscalingv2.MetricStatus) *MetricValue {
	var value autoscalingv2.MetricValueStatus
	switch status.Type {
	case autoscalingv2.ResourceMetricSourceType:
		value = status.Resource.Current
	case autoscalingv2.ContainerResourceMetricSourceType:
		value = status.ContainerResource.Current
	case autoscalingv2.PodsMetricSourceType:
		value = status.Pods.Current
	case autoscalingv2.ObjectMetricSourceType:
		value = status.Object.Current
	case autoscalingv2.ExternalMetricSourceType:
		value = status.External.Current
	default:
		return nil
	}
	return &MetricValue{
		Value:              milli(value.Value),
		AverageValue:       milli(value.AverageValue),
		AverageUtilization: value.AverageUtilization,
	}
}

func milli(quantity *resource.Quantity) *int64 {
	if quantity == nil {
		return nil
	}
	value := quantity.MilliValue()
	return &value
}
