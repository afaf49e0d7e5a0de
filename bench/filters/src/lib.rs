//! The filters are the examples: each is a module with all exports of the SDK, as anybody's filter is.
