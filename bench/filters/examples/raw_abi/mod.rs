//! The exports that a host needs to load a module without the SDK, and its host calls.
#![allow(dead_code, reason = "not every module makes every call")]

const NAME: &str = "x-burst";
const VALUE: &str = "service=shop/web-0, current-load=1, target-load=4, max-load=5";
const CLUSTER: &[u8] = b"xds\0cluster_name";
const REQUEST_HEADERS: u32 = 0;
const RESPONSE_HEADERS: u32 = 2;

/// The memory that the host writes values into.
static mut ANSWER: [u8; 4096] = [0; 4096];

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_property(path: *const u8, path_size: usize, value: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_get_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn _initialize() {}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn proxy_abi_version_0_2_1() {}

#[cfg_attr(target_arch = "wasm32", unsafe(export_name = "malloc"))]
pub(crate) extern "C" fn allocate(size: usize) -> *mut u8 {
    let answer = &raw mut ANSWER;
    if size > 4096 {
        std::ptr::null_mut()
    } else {
        answer.cast()
    }
}

/// Reads the path of the request.
pub(crate) fn read_path() {
    let (mut path, mut size, name) = (std::ptr::null_mut(), 0, ":path");
    // SAFETY: the pointers and sizes describe memory of this module; the host writes only to `path` and `size`.
    unsafe {
        proxy_get_header_map_value(REQUEST_HEADERS, name.as_ptr(), name.len(), &raw mut path, &raw mut size);
    }
}

/// Reads the cluster, and puts a constant in the header.
pub(crate) fn mark_response() {
    let (mut cluster, mut size) = (std::ptr::null_mut(), 0);
    let (name, value) = (NAME.as_bytes(), VALUE.as_bytes());
    // SAFETY: as above.
    unsafe {
        proxy_get_property(CLUSTER.as_ptr(), CLUSTER.len(), &raw mut cluster, &raw mut size);
        proxy_replace_header_map_value(RESPONSE_HEADERS, name.as_ptr(), name.len(), value.as_ptr(), value.len());
    }
}
