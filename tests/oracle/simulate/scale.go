package simulate

import (
	"context"
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/scale"
)

// target is the workload's scale subresource. The rival has another one, whose replicas never change.
type target struct {
	scale     autoscalingv1.Scale
	readErr   string
	writeErr  string
	rivalSize int32
}

var _ scale.ScalesGetter = &target{}
var _ scale.ScaleInterface = &target{}

const (
	selector = "app=web"
	rival    = "rival"
)

func (t *target) Scales(string) scale.ScaleInterface { return t }

func (t *target) Get(_ context.Context, _ schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if name == rival {
		return &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: rival, Namespace: t.scale.Namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: t.rivalSize},
			Status:     autoscalingv1.ScaleStatus{Replicas: t.rivalSize, Selector: selector},
		}, nil
	}
	if t.readErr != "" {
		return nil, errors.New(t.readErr)
	}
	return t.scale.DeepCopy(), nil
}

func (t *target) Update(_ context.Context, _ schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	if scale.Name == rival {
		return nil, errors.New("the rival has no reason to move")
	}
	if t.writeErr != "" {
		return nil, errors.New(t.writeErr)
	}
	t.scale.Spec.Replicas = scale.Spec.Replicas
	return scale, nil
}

func (t *target) Patch(context.Context, schema.GroupVersionResource, string, types.PatchType, []byte, metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	return nil, errors.New("the controller does not patch")
}
