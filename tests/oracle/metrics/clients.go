package main

import (
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	hpa "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	customv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	customv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	resource "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// clients are made as in cmd/kube-controller-manager/app/autoscaling.go.
type clients struct {
	discovery discovery.DiscoveryInterface
	// custom has a client for each version. The one named "" finds the preferred version.
	custom   map[string]custom_metrics.CustomMetricsClient
	external external_metrics.ExternalMetricsClient
	hpa      hpa.MetricsClient
}

func newClients(kubeconfig, contentType string) (*clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType = contentType
	config.QPS = -1
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	all := &clients{discovery: disco, custom: map[string]custom_metrics.CustomMetricsClient{
		"": custom_metrics.NewForConfig(config, mapper, custom_metrics.NewAvailableAPIsGetter(disco)),
	}}
	for _, version := range []string{customv1beta1.SchemeGroupVersion.Version, customv1beta2.SchemeGroupVersion.Version} {
		group := customv1beta1.SchemeGroupVersion
		group.Version = version
		if all.custom[version], err = custom_metrics.NewForVersionForConfig(rest.CopyConfig(config), mapper, group); err != nil {
			return nil, err
		}
	}
	if all.external, err = external_metrics.NewForConfig(config); err != nil {
		return nil, err
	}
	pods, err := resource.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	all.hpa = hpa.NewRESTMetricsClient(pods, all.custom[""], all.external)
	return all, nil
}
