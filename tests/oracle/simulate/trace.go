// Package simulate replays traces against the unmodified HorizontalPodAutoscaler controller of kube-controller-manager.
package simulate

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// A Trace is everything that the controller reads, sync by sync. Times are in milliseconds after the creation of the
// autoscaler.
type Trace struct {
	Options   Options                               `json:"options"`
	HPA       autoscalingv2.HorizontalPodAutoscaler `json:"hpa"`
	Replicas  int32                                 `json:"replicas"`
	Templates []corev1.PodSpec                      `json:"templates"`
	Ticks     []Tick                                `json:"ticks"`
}

// Options are flags and feature gates. Durations are in milliseconds.
type Options struct {
	DownscaleStabilization  int64   `json:"downscaleStabilization"`
	Tolerance               float64 `json:"tolerance"`
	CPUInitializationPeriod int64   `json:"cpuInitializationPeriod"`
	InitialReadinessDelay   int64   `json:"initialReadinessDelay"`
	ScaleToZero             bool    `json:"scaleToZero"`
	ConfigurableTolerance   bool    `json:"configurableTolerance"`
}

// A Tick describes the changes before one sync.
type Tick struct {
	// Spec replaces the autoscaler's spec.
	Spec *autoscalingv2.HorizontalPodAutoscalerSpec `json:"spec"`
	// Replicas is written to the target's scale by another client.
	Replicas *int32 `json:"replicas"`
	// StatusReplicas is the scale's status.replicas.
	StatusReplicas int32  `json:"statusReplicas"`
	ReadError      string `json:"readError"`
	WriteError     string `json:"writeError"`
	// Selector replaces the valid selector of the scale.
	Selector *string `json:"selector"`
	// Rival adds another autoscaler with the same selector.
	Rival bool `json:"rival"`
	// Pods replaces the pods. If absent, they stay unchanged.
	Pods     []Pod     `json:"pods"`
	Readings []Reading `json:"readings"`
}

// A Pod has the fields that the controller reads.
type Pod struct {
	Name  string          `json:"name"`
	Phase corev1.PodPhase `json:"phase"`
	// Ready is the condition's status, or empty for no condition.
	Ready    corev1.ConditionStatus `json:"ready"`
	Since    int64                  `json:"since"`
	Started  *int64                 `json:"started"`
	Deleted  bool                   `json:"deleted"`
	Template int                    `json:"template"`
}

// A Reading is the answer for the metric of the same index: an error, or the kind of values that its source has.
type Reading struct {
	Error string `json:"error"`
	// Pods holds value, end and length of each pod's sample.
	Pods     map[string][3]int64 `json:"pods"`
	Object   int64               `json:"object"`
	External []int64             `json:"external"`
}

// An Answer is the result of one sync.
type Answer struct {
	Replicas   int32          `json:"replicas"`
	Current    int32          `json:"current"`
	Desired    int32          `json:"desired"`
	LastScale  *int64         `json:"lastScale,omitempty"`
	Metrics    []*MetricValue `json:"metrics,omitempty"`
	Conditions []Condition    `json:"conditions"`
}

// A MetricValue in thousandths.
type MetricValue struct {
	Value              *int64 `json:"value,omitempty"`
	AverageValue       *int64 `json:"averageValue,omitempty"`
	AverageUtilization *int32 `json:"averageUtilization,omitempty"`
}

// A Condition of the autoscaler's status.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Since   int64  `json:"since"`
}
