package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects returns the pods of a tick as the informer would hold them.
func objects(pods []Pod, templates []corev1.PodSpec, namespace string, epoch time.Time) ([]interface{}, error) {
	all := make([]interface{}, 0, len(pods))
	for _, pod := range pods {
		if pod.Template < 0 || pod.Template >= len(templates) {
			return nil, fmt.Errorf("pod %s: there is no template %d", pod.Name, pod.Template)
		}
		object := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace, Labels: map[string]string{"app": "web"}},
			Spec:       templates[pod.Template],
			Status:     corev1.PodStatus{Phase: pod.Phase},
		}
		if pod.Ready != "" {
			object.Status.Conditions = []corev1.PodCondition{{
				Type:               corev1.PodReady,
				Status:             pod.Ready,
				LastTransitionTime: *moment(epoch, pod.Since),
			}}
		}
		if pod.Started != nil {
			object.Status.StartTime = moment(epoch, *pod.Started)
		}
		if pod.Deleted {
			object.DeletionTimestamp = moment(epoch, 0)
		}
		all = append(all, object)
	}
	return all, nil
}

func moment(epoch time.Time, millis int64) *metav1.Time {
	return &metav1.Time{Time: epoch.Add(time.Duration(millis) * time.Millisecond)}
}
