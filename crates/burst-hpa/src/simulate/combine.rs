//! Combines the proposals of all metrics into one recommendation.

use super::failure::MetricFailure;
use super::metric::Proposal;

/// Returns the largest proposal and its metric.
///
/// # Errors
/// Returns the first failure if no metric has a proposal. Also returns it if some metrics have no proposal and the others
/// would scale down, because a metric that cannot be read may be the one that needs the pods.
pub(super) fn highest(
    proposals: &[Result<Proposal, MetricFailure>],
    current: i32,
) -> Result<&Proposal, Option<&MetricFailure>> {
    let failure = proposals.iter().find_map(|proposal| proposal.as_ref().err());
    let highest = proposals.iter().flatten().reduce(|highest, next| {
        // After a proposal of 0 the next one replaces it, however small it is.
        if highest.replicas == 0 || next.replicas > highest.replicas {
            next
        } else {
            highest
        }
    });
    match highest {
        Some(highest) if failure.is_none() || highest.replicas >= current => Ok(highest),
        _ => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::MetricError;
    use super::super::metric::MetricValue;
    use super::*;
    use crate::status::Reason;

    fn proposal(replicas: i32, metric: &str) -> Result<Proposal, MetricFailure> {
        Ok(Proposal {
            replicas,
            metric: metric.to_owned(),
            current: MetricValue::default(),
        })
    }

    fn failure() -> Result<Proposal, MetricFailure> {
        let (reason, error) = (Reason::FailedGetPodsMetric, MetricError::NoPods);
        Err(MetricFailure {
            reason,
            error,
            effort: String::new(),
        })
    }

    #[test]
    fn the_first_of_the_highest_names_the_recommendation() {
        let proposals = [proposal(2, "a"), proposal(5, "b"), proposal(5, "c")];
        assert_eq!(highest(&proposals, 3).unwrap().metric, "b");
        let nothing = [proposal(0, "a"), proposal(0, "b")];
        assert_eq!(highest(&nothing, 3).unwrap().metric, "b");
    }

    #[test]
    fn a_failure_forbids_scaling_down_but_not_up() {
        assert_eq!(highest(&[failure(), proposal(5, "b")], 5).unwrap().replicas, 5);
        assert!(highest(&[failure(), proposal(4, "b")], 5).is_err());
        assert!(highest(&[failure(), failure()], 5).is_err());
        assert_eq!(highest(&[proposal(4, "a")], 5).unwrap().replicas, 4);
    }
}
