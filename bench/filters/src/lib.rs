//! The filters are the examples: `empty` and `constant` have all exports of the SDK, as anybody's filter has; `absent`,
//! `floor` and `floor_path` have no SDK at all.
