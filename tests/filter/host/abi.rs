//! The host functions that the SDK imports, by name. Each one acts on the state of the VM whose thread calls it. The
//! statuses are those of proxy-wasm-cpp-host and Envoy 1.40.

use super::callout::{Callout, Progress};
use super::guest;
use super::message::Headers;
use super::proxy::Access;
use super::state::{Done, VmState};
use super::stream::Pause;
use super::{thread, upstream_filter, wire};
use proxy_wasm::types::{BufferType, LogLevel, MapType, MetricType, Status, StreamType};
use std::slice;
use std::time::Duration;

/// Bytes that the guest passes to the host.
fn bytes<'a>(start: *const u8, size: usize) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: only the SDK in this process calls this, with slices that live until the host function returns.
    unsafe { slice::from_raw_parts(start, size) }
}

fn text(start: *const u8, size: usize) -> String {
    String::from_utf8_lossy(bytes(start, size)).into_owned()
}

fn headers(start: *const u8, size: usize) -> Headers {
    wire::unpack(bytes(start, size))
}

/// Writes a result to the pointer that the guest passed.
fn put<T>(place: *mut T, value: T) {
    // SAFETY: only the SDK in this process calls this, with pointers to variables on its stack.
    unsafe { place.write(value) }
}

fn put_bytes(value: &[u8], data: *mut *mut u8, size: *mut usize) {
    put(data, guest::copy_in(value));
    put(size, value.len());
}

/// Runs a host function on the state of this thread's VM.
fn host<R>(function: impl FnOnce(&mut VmState) -> Result<R, Status>) -> Result<R, Status> {
    let vm = thread::current().expect("host functions other than proxy_log are called by a VM only");
    let initializing = thread::lock(&vm).initializing;
    assert!(!initializing, "only logging is allowed in _initialize");
    let mut vm = thread::lock(&vm);
    vm.host_calls += 1;
    function(&mut vm)
}

fn status(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(Status::Ok)
}

/// The status of a function that returns one result.
fn result<T>(result: Result<T, Status>, place: *mut T) -> Status {
    status(result.map(|value| put(place, value)))
}

/// The status of a function that returns bytes.
fn bytes_result(result: Result<Vec<u8>, Status>, data: *mut *mut u8, size: *mut usize) -> Status {
    status(result.map(|value| put_bytes(&value, data, size)))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_log(level: LogLevel, message: *const u8, size: usize) -> Status {
    let text = text(message, size);
    match thread::current() {
        Some(vm) => thread::lock(&vm).log(level, text),
        None => eprintln!("[no VM] [{level:?}] {text}"),
    }
    Status::Ok
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_log_level(level: *mut LogLevel) -> Status {
    result(Ok(LogLevel::Info), level)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_current_time_nanoseconds(time: *mut u64) -> Status {
    result(
        host(|vm| Ok(u64::try_from(vm.proxy.state().wall_clock().as_nanos()).expect("before the year 2554"))),
        time,
    )
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_tick_period_milliseconds(period: u32) -> Status {
    status(host(|vm| {
        vm.set_tick_period(Duration::from_millis(period.into()));
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_effective_context(context: u32) -> Status {
    status(host(|vm| {
        vm.effective = Some(context).filter(|&id| vm.has_context(id));
        vm.effective.map(drop).ok_or(Status::BadArgument)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_done() -> Status {
    status(host(|vm| {
        let root = vm
            .root()
            .filter(|root| root.done == Done::Pending)
            .ok_or(Status::NotFound)?;
        root.done = Done::Deletable;
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_buffer_bytes(
    kind: BufferType,
    start: usize,
    max_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    let part = |buffer: Vec<u8>| {
        let from = start.min(buffer.len());
        let to = start.saturating_add(max_size).min(buffer.len());
        buffer[from..to].to_vec()
    };
    bytes_result(host(|vm| vm.buffer(kind)).map(part), data, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_buffer_bytes(
    kind: BufferType,
    start: usize,
    size: usize,
    data: *const u8,
    data_size: usize,
) -> Status {
    status(host(|vm| vm.edit_body(kind, start, size, bytes(data, data_size))))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_header_map_pairs(map: MapType, data: *mut *mut u8, size: *mut usize) -> Status {
    let pairs = host(|vm| Ok(vm.header_pairs(map)));
    let packed = |pairs: Headers| {
        if pairs.len() == 0 {
            Vec::new()
        } else {
            wire::pack(&pairs)
        }
    };
    bytes_result(pairs.map(packed), data, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_header_map_pairs(map: MapType, data: *const u8, size: usize) -> Status {
    status(host(|vm| {
        *vm.headers_mut(map)? = headers(data, size);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    bytes_result(host(|vm| vm.header(map, &text(name, name_size))), data, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_add_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    status(host(|vm| {
        vm.headers_mut(map)?
            .add(&text(name, name_size), bytes(value, value_size));
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_replace_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    status(host(|vm| {
        vm.headers_mut(map)?
            .set(&text(name, name_size), bytes(value, value_size));
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_remove_header_map_value(map: MapType, name: *const u8, name_size: usize) -> Status {
    status(host(|vm| {
        vm.headers_mut(map)?.remove(&text(name, name_size));
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_property(path: *const u8, path_size: usize, data: *mut *mut u8, size: *mut usize) -> Status {
    let path = text(path, path_size);
    let parts: Vec<_> = path.split('\0').collect();
    bytes_result(host(|vm| vm.property(&parts)), data, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_property(path: *const u8, path_size: usize, value: *const u8, value_size: usize) -> Status {
    status(host(|vm| {
        vm.set_property(bytes(path, path_size), bytes(value, value_size).to_vec())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_shared_data(
    key: *const u8,
    key_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
    cas: *mut u32,
) -> Status {
    let key = text(key, key_size);
    if let Ok(Some(interrupt)) = host(|vm| Ok(vm.interrupt_before_read(&key))) {
        interrupt();
    }
    let found = host(|vm| {
        let found = vm.proxy.state().data.read(&vm.vm_id, &key).cloned();
        vm.copied += found.as_ref().map_or(0, |(value, _)| value.len());
        found.ok_or(Status::NotFound)
    });
    if let Ok((value, _)) = &found {
        trap_if_fatal(Access::Read, &key, value);
    }
    status(found.map(|(value, current)| {
        put_bytes(&value, data, size);
        put(cas, current);
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_shared_data(
    key: *const u8,
    key_size: usize,
    value: *const u8,
    value_size: usize,
    cas: u32,
) -> Status {
    let key = text(key, key_size);
    if let Ok(Some(interrupt)) = host(|vm| Ok(vm.interrupt_before_write(&key))) {
        interrupt();
    }
    let value = bytes(value, value_size).to_vec();
    trap_if_fatal(Access::Write, &key, &value);
    status(host(|vm| {
        vm.copied += value.len();
        vm.proxy.state().data.write(&vm.vm_id, &key, value, cas)
    }))
}

/// Panics if the test traps VMs on this value. No lock is held while the guest panics.
fn trap_if_fatal(access: Access, key: &str, value: &[u8]) {
    let proxy = host(|vm| Ok(vm.proxy.clone()));
    assert!(
        !proxy.is_ok_and(|proxy| proxy.is_fatal(access, key, value)),
        "{access:?} of {key}: the test has it trap"
    );
}

#[unsafe(no_mangle)]
extern "C" fn proxy_register_shared_queue(name: *const u8, name_size: usize, token: *mut u32) -> Status {
    result(
        host(|vm| Ok(vm.proxy.state().queues.register(&text(name, name_size), vm.owner()))),
        token,
    )
}

#[unsafe(no_mangle)]
extern "C" fn proxy_resolve_shared_queue(
    vm_id: *const u8,
    vm_id_size: usize,
    name: *const u8,
    name_size: usize,
    token: *mut u32,
) -> Status {
    let found = host(|vm| {
        let asked = text(vm_id, vm_id_size);
        let vm_id = if asked.is_empty() { &vm.vm_id } else { &asked };
        vm.proxy.state().queues.resolve(vm_id, &text(name, name_size))
    });
    result(found, token)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_dequeue_shared_queue(token: u32, data: *mut *mut u8, size: *mut usize) -> Status {
    bytes_result(host(|vm| vm.proxy.state().queues.dequeue(token)), data, size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_enqueue_shared_queue(token: u32, value: *const u8, value_size: usize) -> Status {
    status(host(|vm| {
        vm.proxy
            .state()
            .queues
            .enqueue(token, bytes(value, value_size).to_vec())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_continue_stream(kind: StreamType) -> Status {
    status(host(|vm| vm.set_pause(kind, Pause::Flowing)))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_close_stream(kind: StreamType) -> Status {
    status(host(|vm| vm.set_pause(kind, Pause::Reset)))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_send_local_response(
    code: u32,
    _details: *const u8,
    _details_size: usize,
    body: *const u8,
    body_size: usize,
    headers_data: *const u8,
    headers_size: usize,
    _grpc_status: i32,
) -> Status {
    status(host(|vm| {
        vm.want_reply(
            code,
            &headers(headers_data, headers_size),
            bytes(body, body_size).to_vec(),
        );
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_http_call(
    cluster: *const u8,
    cluster_size: usize,
    headers_data: *const u8,
    headers_size: usize,
    body: *const u8,
    body_size: usize,
    _trailers: *const u8,
    _trailers_size: usize,
    timeout: u32,
    token: *mut u32,
) -> Status {
    let callout = Callout {
        cluster: text(cluster, cluster_size),
        headers: headers(headers_data, headers_size),
        body: bytes(body, body_size).to_vec(),
        timeout: (timeout > 0).then(|| Duration::from_millis(timeout.into())),
        token: 0,
        sent: Duration::ZERO,
        upstream: None,
        progress: Progress::Waiting,
    };
    let sent = host(|vm| vm.dispatch(callout));
    if let Ok(number) = sent {
        upstream_filter::begin(number);
    }
    result(sent, token)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_status(code: *mut u32, message: *mut *mut u8, size: *mut usize) -> Status {
    let found = host(|vm| vm.root().map(|root| root.status).ok_or(Status::NotFound));
    status(found.map(|(number, text)| {
        put(code, number);
        put_bytes(text.as_bytes(), message, size);
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_define_metric(kind: MetricType, name: *const u8, name_size: usize, id: *mut u32) -> Status {
    result(host(|vm| Ok(vm.define_metric(kind, &text(name, name_size)))), id)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_metric(id: u32, value: *mut u64) -> Status {
    let found = host(|vm| {
        let (kind, name) = vm.metric(id)?;
        vm.proxy.state().stats.read(*kind, name)
    });
    result(found, value)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_record_metric(id: u32, value: u64) -> Status {
    status(host(|vm| {
        let (kind, name) = vm.metric(id)?;
        vm.proxy.state().stats.record(*kind, name, value);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_increment_metric(id: u32, offset: i64) -> Status {
    status(host(|vm| {
        let (kind, name) = vm.metric(id)?;
        vm.proxy.state().stats.increment(*kind, name, offset)
    }))
}

/// Accepts `clear_route_cache` as a no-op: the test fixes the route.
#[unsafe(no_mangle)]
extern "C" fn proxy_call_foreign_function(
    name: *const u8,
    name_size: usize,
    _arguments: *const u8,
    _arguments_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    let called = host(|vm| match (text(name, name_size).as_str(), vm.stream()) {
        ("clear_route_cache", stream) => {
            if let Some(stream) = stream {
                stream.route_cleared = true;
            }
            Ok(Vec::new())
        }
        _ => Err(Status::NotFound),
    });
    bytes_result(called, data, size)
}

// gRPC is not supported: every cluster is unknown to gRPC calls, so no token exists.

#[unsafe(no_mangle)]
extern "C" fn proxy_grpc_call(
    _upstream: *const u8,
    _upstream_size: usize,
    _service: *const u8,
    _service_size: usize,
    _method: *const u8,
    _method_size: usize,
    _metadata: *const u8,
    _metadata_size: usize,
    _message: *const u8,
    _message_size: usize,
    _timeout: u32,
    _token: *mut u32,
) -> Status {
    Status::ParseFailure
}

#[unsafe(no_mangle)]
extern "C" fn proxy_grpc_stream(
    _upstream: *const u8,
    _upstream_size: usize,
    _service: *const u8,
    _service_size: usize,
    _method: *const u8,
    _method_size: usize,
    _metadata: *const u8,
    _metadata_size: usize,
    _token: *mut u32,
) -> Status {
    Status::ParseFailure
}

#[unsafe(no_mangle)]
extern "C" fn proxy_grpc_send(_token: u32, _message: *const u8, _message_size: usize, _end_stream: bool) -> Status {
    Status::BadArgument
}

#[unsafe(no_mangle)]
extern "C" fn proxy_grpc_cancel(_token: u32) -> Status {
    Status::NotFound
}

#[unsafe(no_mangle)]
extern "C" fn proxy_grpc_close(_token: u32) -> Status {
    Status::NotFound
}
