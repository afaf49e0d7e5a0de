//! The two calls that a header per cluster takes, its name and the header, in one callback, and nothing else: no SDK, no
//! memory of its own, and nobody tells it of streams that begin and end. No filter that asks for the cluster costs less.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

const NAME: &str = "x-burst";
const VALUE: &str = "service=shop/web-0, current-load=1, target-load=4, max-load=5";
const CLUSTER: &[u8] = b"xds\0cluster_name";
const RESPONSE_HEADERS: u32 = 2;

/// Where the host puts what it was asked for.
static mut ANSWER: [u8; 4096] = [0; 4096];

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_property(path: *const u8, path_size: usize, value: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
}

#[unsafe(no_mangle)]
pub extern "C" fn _initialize() {}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_abi_version_0_2_1() {}

#[cfg_attr(target_arch = "wasm32", unsafe(export_name = "malloc"))]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    let place = &raw mut ANSWER;
    if size > 4096 {
        std::ptr::null_mut()
    } else {
        place.cast()
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_vm_start(_context: u32, _size: usize) -> bool {
    true
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_configure(_context: u32, _size: usize) -> bool {
    true
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_response_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    let (mut cluster, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the host reads what it is shown, and writes to both places.
    unsafe {
        proxy_get_property(CLUSTER.as_ptr(), CLUSTER.len(), &raw mut cluster, &raw mut size);
        let (name, value) = (NAME.as_bytes(), VALUE.as_bytes());
        proxy_replace_header_map_value(RESPONSE_HEADERS, name.as_ptr(), name.len(), value.as_ptr(), value.len());
    }
    0
}
