//! Puts the same header on every response.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

const VALUE: &str = "service=shop/web-0, current-load=1, target-load=4, max-load=5";

struct Constant;

impl Context for Constant {}

impl RootContext for Constant {
    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Self))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

impl HttpContext for Constant {
    fn on_http_response_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        self.set_http_response_header("x-burst", Some(VALUE));
        Action::Continue
    }
}

mod start {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(super::Constant));
    }}
}
