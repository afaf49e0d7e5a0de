//! What fits in a terminal: the parts of the table by their importance.

/// Enough for every step of most services; more rows make the bars taller without telling more.
const MAX_CHART_ROWS: u16 = 6;

/// The heights of what is to be drawn, in lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// What is always drawn.
    pub(super) fixed: u16,
    pub(super) services: u16,
    /// The headers of all services.
    pub(super) headers: u16,
    pub(super) commands: u16,
    /// Empty lines between the sections.
    pub(super) blanks: u16,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Services that fit, and the rows of the chart of each.
    pub(super) services: u16,
    pub(super) chart_rows: u16,
    pub(super) headers: bool,
    pub(super) blanks: bool,
    pub(super) commands: bool,
}

impl Plan {
    /// The headers are worth more than empty lines, those more than the commands, and those more than taller charts.
    pub(super) fn new(height: u16, needs: Needs) -> Self {
        let mut left = height.saturating_sub(needs.fixed);
        let mut take = |lines: u16| {
            let fits = lines <= left;
            left -= if fits { lines } else { 0 };
            fits
        };
        if !take(needs.services.saturating_mul(2)) {
            return Plan {
                // The last line says how many more there are.
                services: left.saturating_sub(1) / 2,
                chart_rows: 2,
                headers: false,
                blanks: false,
                commands: false,
            };
        }
        let (headers, blanks, commands) = (take(needs.headers), take(needs.blanks), take(needs.commands));
        let taller = (2..MAX_CHART_ROWS).take_while(|_| take(needs.services)).count();
        Plan {
            services: needs.services,
            chart_rows: 2 + u16::try_from(taller).unwrap_or(0),
            headers,
            blanks,
            commands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: Needs = Needs {
        fixed: 6,
        services: 4,
        headers: 4,
        commands: 3,
        blanks: 3,
    };

    #[test]
    fn a_taller_terminal_shows_more() {
        let plan = |height| {
            let plan = Plan::new(height, DEMO);
            (plan.services, plan.chart_rows, plan.headers, plan.blanks, plan.commands)
        };
        assert_eq!(plan(15), (4, 2, false, false, false));
        assert_eq!(plan(18), (4, 2, true, false, false));
        assert_eq!(plan(21), (4, 2, true, true, false));
        assert_eq!(plan(24), (4, 2, true, true, true));
        assert_eq!(plan(28), (4, 3, true, true, true));
        assert_eq!(plan(100), (4, 6, true, true, true));
    }

    #[test]
    fn a_terminal_that_is_too_low_shows_some_services() {
        assert_eq!(
            [13, 12, 9, 6, 0].map(|height| Plan::new(height, DEMO).services),
            [3, 2, 1, 0, 0]
        );
    }
}
