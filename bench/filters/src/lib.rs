//! The filters are the examples: `empty` and `constant` have all exports of the SDK, as anybody's filter has; `floor` has
//! no SDK at all, nor has `absent`.
