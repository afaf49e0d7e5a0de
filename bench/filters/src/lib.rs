//! The filters are the examples. `empty` and `constant` have all exports of the SDK, as most filters do. `no_callbacks`,
//! `minimal` and `minimal_path` do not use the SDK.
