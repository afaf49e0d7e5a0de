//! Documents of `autoscaling/v1`, which the API server still accepts.

pub(crate) const V1: [&str; 5] = [
    r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":3}}"#,
    r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","annotations":{"note":"kept"}},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":2,"maxReplicas":3,
        "targetCPUUtilizationPercentage":60},"status":{"currentReplicas":1,"desiredReplicas":1}}"#,
    r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","annotations":{
        "autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageValue\":\"1024Mi\"}},{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"cpu\",\"container\":\"app\",\"targetAverageUtilization\":70}},{\"type\":\"Pods\",\"pods\":{\"metricName\":\"qps\",\"targetAverageValue\":\"10\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}]"}},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":3,"targetCPUUtilizationPercentage":60}}"#,
    r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","annotations":{
        "autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Object\",\"object\":{\"target\":{\"kind\":\"Service\",\"name\":\"s\"},\"metricName\":\"hits\",\"targetValue\":\"0\",\"averageValue\":\"5\"}},{\"type\":\"Object\",\"object\":{\"target\":{\"kind\":\"Service\",\"name\":\"s\"},\"metricName\":\"hits\",\"targetValue\":\"5\"}},{\"type\":\"External\",\"external\":{\"metricName\":\"queue\",\"metricSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"targetValue\":\"30\"}},{\"type\":\"External\",\"external\":{\"metricName\":\"queue\",\"targetAverageValue\":\"3e1\"}}]",
        "autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleUp\":{\"StabilizationWindowSeconds\":0,\"SelectPolicy\":\"Max\",\"Policies\":[{\"Type\":\"Pods\",\"Value\":4,\"PeriodSeconds\":15}],\"Tolerance\":\"0.05\"},\"ScaleDown\":{\"StabilizationWindowSeconds\":60,\"SelectPolicy\":\"Min\",\"Policies\":[{\"Type\":\"Percent\",\"Value\":10,\"PeriodSeconds\":60}]}}"}},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":3}}"#,
    r#"{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","annotations":{
        "autoscaling.alpha.kubernetes.io/metrics":"not JSON","autoscaling.alpha.kubernetes.io/behavior":"[]",
        "autoscaling.alpha.kubernetes.io/conditions":"[]","autoscaling.alpha.kubernetes.io/current-metrics":"[]"}},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":3}}"#,
];
