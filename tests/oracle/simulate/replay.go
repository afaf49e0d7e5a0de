package simulate

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	hpaclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
)

const period = 15 * time.Second

// A stage is the controller with everything that it reads. The trace changes it half a period away from every sync.
type stage struct {
	trace    *Trace
	epoch    time.Time
	client   *fake.Clientset
	target   *target
	readings *readings
	pods     cache.Store
}

// replay runs the controller over a trace. It must be called in a synctest bubble.
func replay(ctx context.Context, trace *Trace) ([]Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	stage := raise(ctx, trace)
	defer func() {
		cancel()
		// The controller's queue and broadcaster need a moment to notice the cancellation.
		time.Sleep(time.Minute)
	}()
	if len(trace.Ticks) > 0 && trace.Ticks[0].Rival {
		if err := stage.create(ctx, stage.rival()); err != nil {
			return nil, err
		}
	}
	// A rival counts only after its own first sync, so it starts one period earlier.
	time.Sleep(time.Until(stage.epoch))
	if err := stage.create(ctx, &trace.HPA); err != nil {
		return nil, err
	}
	var answers []Answer
	for i := range trace.Ticks {
		if err := stage.prepare(ctx, &trace.Ticks[i]); err != nil {
			return nil, fmt.Errorf("tick %d: %w", i, err)
		}
		sync := stage.epoch.Add(period * time.Duration(i+1))
		time.Sleep(time.Until(sync.Add(period / 2)))
		hpa, err := stage.get(ctx)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer(&hpa.Status, stage.target.scale.Spec.Replicas, stage.epoch))
	}
	return answers, nil
}

// raise starts the controller without any autoscaler.
func raise(ctx context.Context, trace *Trace) *stage {
	epoch := time.Now().Add(period + period/2)
	stage := &stage{
		trace: trace,
		epoch: epoch,
		// NewClientset would build a REST mapper for every call and is four times slower. Nothing here uses apply.
		client:   fake.NewSimpleClientset(),
		target:   &target{rivalSize: 3},
		readings: &readings{epoch: epoch},
	}
	stage.target.scale = autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: trace.HPA.Spec.ScaleTargetRef.Name, Namespace: trace.HPA.Namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: trace.Replicas},
		Status:     autoscalingv1.ScaleStatus{Selector: selector},
	}
	factory := informers.NewSharedInformerFactory(stage.client, 0)
	pods := factory.Core().V1().Pods()
	controller := podautoscaler.NewHorizontalController(
		ctx,
		stage.client.CoreV1(),
		stage.target,
		stage.client.AutoscalingV2(),
		mapper(),
		stage.readings,
		factory.Autoscaling().V2().HorizontalPodAutoscalers(),
		pods,
		period,
		time.Duration(trace.Options.DownscaleStabilization)*time.Millisecond,
		trace.Options.Tolerance,
		time.Duration(trace.Options.CPUInitializationPeriod)*time.Millisecond,
		time.Duration(trace.Options.InitialReadinessDelay)*time.Millisecond,
	)
	stage.pods = pods.Informer().GetStore()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go controller.Run(ctx, 1)
	return stage
}

// prepare sets the state for the next sync.
func (s *stage) prepare(ctx context.Context, tick *Tick) error {
	hpa, err := s.get(ctx)
	if err != nil {
		return err
	}
	if tick.Spec != nil {
		hpa.Spec = *tick.Spec
		if _, err := s.hpas().Update(ctx, hpa, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if !tick.Rival {
		// The rival may not exist.
		_ = s.hpas().Delete(ctx, rival, metav1.DeleteOptions{})
	}
	scale := &s.target.scale
	if tick.Replicas != nil {
		scale.Spec.Replicas = *tick.Replicas
	}
	scale.Status = autoscalingv1.ScaleStatus{Replicas: tick.StatusReplicas, Selector: selector}
	if tick.Selector != nil {
		scale.Status.Selector = *tick.Selector
	}
	s.target.readErr, s.target.writeErr = tick.ReadError, tick.WriteError
	s.readings.set(hpa.Spec.Metrics, tick.Readings)
	if tick.Pods == nil {
		return nil
	}
	pods, err := objects(tick.Pods, s.trace.Templates, s.trace.HPA.Namespace, s.epoch)
	if err != nil {
		return err
	}
	return s.pods.Replace(pods, "")
}

// rival is an autoscaler of another workload with the same selector.
func (s *stage) rival() *autoscalingv2.HorizontalPodAutoscaler {
	other := s.trace.HPA.DeepCopy()
	other.Name = rival
	other.Spec.ScaleTargetRef.Name = rival
	other.Spec.MinReplicas = &s.target.rivalSize
	other.Spec.MaxReplicas = s.target.rivalSize
	return other
}

func (s *stage) create(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	_, err := s.hpas().Create(ctx, hpa, metav1.CreateOptions{})
	return err
}

func (s *stage) get(ctx context.Context) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return s.hpas().Get(ctx, s.trace.HPA.Name, metav1.GetOptions{})
}

func (s *stage) hpas() hpaclient.HorizontalPodAutoscalerInterface {
	return s.client.AutoscalingV2().HorizontalPodAutoscalers(s.trace.HPA.Namespace)
}

// mapper knows only Deployments.
func mapper() meta.RESTMapper {
	group := schema.GroupVersion{Group: "apps", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{group})
	mapper.Add(group.WithKind("Deployment"), meta.RESTScopeNamespace)
	return mapper
}
