//! How long ago something was, as people say it.

use nuncio_protocol::time::Timestamp;

/// Says how long ago a moment was: `now`, `40s ago`, `5m ago`, `3h ago`, `2d ago`. A text that
/// is no moment is shown as it is.
pub(crate) fn ago(moment: &str) -> String {
    match moment.parse::<Timestamp>() {
        Ok(moment) => between(moment, Timestamp::now()),
        Err(_) => moment.to_owned(),
    }
}

fn between(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.to_parts().0.saturating_sub(moment.to_parts().0);
    match seconds {
        // Clocks differ a little.
        ..=0 => "now".to_owned(),
        1..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: i64, expected: &str) {
        let now = Timestamp::from_parts(1_700_000_000, 0).unwrap();
        let moment = Timestamp::from_parts(1_700_000_000 - seconds, 0).unwrap();
        assert_eq!(between(moment, now), expected);
    }

    #[test]
    fn the_largest_unit_that_fits_is_said() {
        check(-5, "now");
        check(0, "now");
        check(59, "59s ago");
        check(60, "1m ago");
        check(3_599, "59m ago");
        check(3_600, "1h ago");
        check(86_399, "23h ago");
        check(86_400, "1d ago");
        check(400 * 86_400, "400d ago");
    }
}
