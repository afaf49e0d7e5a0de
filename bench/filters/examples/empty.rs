//! Does nothing.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

struct Empty;

impl Context for Empty {}

impl RootContext for Empty {
    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Self))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

impl HttpContext for Empty {}

mod start {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(super::Empty));
    }}
}
