//! A headless Chromium, which shows pages to a test as it shows them to a person.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use headless_chrome::{
    Tab,
    protocol::cdp::{
        Emulation::{SetDeviceMetricsOverride, SetEmulatedMedia},
        Log::LogEntryLevel,
        Network,
        Page::{CaptureScreenshotFormatOption, Viewport},
        types::{Event, Method},
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{process::Process, wait};

/// Chromium starts in 2 s, and a page shows its first numbers at once, on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// The names of the program on PATH. setup/chromium has the same.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The start of the log line with the address of the DevTools protocol.
const LISTENING: &str = "DevTools listening on ";

/// A running Chromium; it is gone when this is dropped.
pub struct Browser {
    browser: headless_chrome::Browser,
    // It ends after the connection to it, and before its folder.
    _process: Process,
    _folder: TempDir,
}

/// An open page. What happens in it is collected from the start.
pub struct Page {
    tab: Arc<Tab>,
    seen: Arc<Mutex<Seen>>,
}

/// What has happened in a page.
#[derive(Debug, Default)]
struct Seen {
    problems: Vec<String>,
    requests: Vec<String>,
}

impl Browser {
    /// Starts one.
    ///
    /// # Panics
    /// When there is no Chromium, naming the command that installs it, or it does not start.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program());
        command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        command.args([
            "--headless",
            "--remote-debugging-port=0",
            // Root has no sandbox, and the only pages are our own.
            "--no-sandbox",
            // In a container it is too small.
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "about:blank",
        ]);
        let mut process = Process::start("chromium", folder.path(), &mut command);
        let log = folder.path().join("chromium.log");
        let address = process.wait_for(PATIENCE, "Chromium listens", || address(&log).ok_or("it does not yet"));
        let browser = headless_chrome::Browser::connect_with_timeout(address, PATIENCE).expect("Chromium answers");
        Self {
            browser,
            _process: process,
            _folder: folder,
        }
    }

    /// Opens a page in a tab of its own.
    ///
    /// # Panics
    /// When Chromium does not answer, or nothing answers at the URL.
    #[must_use]
    #[track_caller]
    pub fn open(&self, url: &str) -> Page {
        let tab = self.browser.new_tab().expect("a tab");
        let page = Page {
            tab,
            seen: Arc::default(),
        };
        let seen = page.seen.clone();
        let listener = move |event: &Event| locked(&seen).add(event);
        page.tab.add_event_listener(Arc::new(listener)).expect("a listener");
        page.tab
            .enable_log()
            .and_then(|tab| tab.enable_runtime())
            .expect("its log");
        page.call::<Network::Enable>(json!({}));
        page.tab
            .navigate_to(url)
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        page.wait(
            "the page is loaded",
            "document.readyState === 'complete' && location.href !== 'about:blank'",
        );
        page
    }
}

impl Page {
    /// Evaluates a JavaScript expression, and returns its value as JSON.
    ///
    /// # Panics
    /// When it throws.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        let result = self
            .tab
            .evaluate(&format!("JSON.stringify(({expression}) ?? null)"), false);
        let result = result.unwrap_or_else(|error| panic!("{expression}: {error}"));
        let Some(Value::String(json)) = result.value else {
            panic!("{expression}: {}", result.description.unwrap_or_default());
        };
        serde_json::from_str(&json).expect("JSON")
    }

    /// Waits until an expression has this value.
    ///
    /// # Panics
    /// When it does not in time.
    #[track_caller]
    pub fn wait_for(&self, expression: &str, expected: &Value) {
        wait::for_ok(PATIENCE, &format!("`{expression}` is {expected}"), || {
            let value = self.value(expression);
            if value == *expected {
                Ok(())
            } else {
                Err(format!("it is {value}; problems: {:?}", self.problems()))
            }
        });
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// When it is not in time.
    #[track_caller]
    pub fn wait(&self, what: &str, expression: &str) {
        wait::for_ok(PATIENCE, what, || match self.value(&format!("!!({expression})")) {
            Value::Bool(true) => Ok(()),
            _ => Err(format!("{:?}", self.problems())),
        });
    }

    /// Clicks on the middle of an element.
    ///
    /// # Panics
    /// When there is no such element, or it cannot be clicked.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let clicked = self
            .tab
            .find_element(selector)
            .and_then(|element| element.click().map(drop));
        clicked.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Presses a key, such as `Tab`, `ArrowDown` or `/`.
    ///
    /// # Panics
    /// When there is no such key.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.tab.press_key(key).unwrap_or_else(|error| panic!("{key}: {error}"));
    }

    /// Types a text into the element that has the focus.
    ///
    /// # Panics
    /// When it has a character that no key has.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.tab
            .type_str(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    /// Gives the page a window of this size, in CSS pixels.
    pub fn resize(&self, width: u32, height: u32) {
        self.call::<SetDeviceMetricsOverride>(
            json!({"width": width, "height": height, "deviceScaleFactor": 1.0, "mobile": false}),
        );
    }

    /// Sets features of `@media`, such as `prefers-color-scheme: dark`.
    pub fn prefer(&self, features: &[(&str, &str)]) {
        let features: Vec<_> = features
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        self.call::<SetEmulatedMedia>(json!({"features": features}));
    }

    /// A PNG of the upper left part of the window, of this size.
    ///
    /// # Panics
    /// When Chromium cannot draw it.
    #[must_use]
    #[track_caller]
    pub fn screenshot(&self, width: u32, height: u32) -> Vec<u8> {
        let clip = Viewport {
            x: 0.0,
            y: 0.0,
            width: width.into(),
            height: height.into(),
            scale: 1.0,
        };
        let png = CaptureScreenshotFormatOption::Png;
        self.tab
            .capture_screenshot(png, None, Some(clip), true)
            .expect("a picture")
    }

    /// Errors of the script, and what Chromium itself reports: violations of the policy, requests that failed. Each begins
    /// with its source, such as `network`.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        locked(&self.seen).problems.clone()
    }

    /// The URLs that the page has asked for, its own the first.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        locked(&self.seen).requests.clone()
    }

    fn call<C: Method + DeserializeOwned + serde::Serialize>(&self, parameters: Value) {
        let method: C = serde_json::from_value(parameters).expect("the parameters of the method");
        self.tab.call_method(method).map(drop).expect("Chromium answers");
    }
}

impl Seen {
    fn add(&mut self, event: &Event) {
        match event {
            Event::NetworkRequestWillBeSent(event) => self.requests.push(event.params.request.url.clone()),
            Event::LogEntryAdded(event) => {
                let entry = &event.params.entry;
                if matches!(entry.level, LogEntryLevel::Error | LogEntryLevel::Warning) {
                    let source = format!("{:?}", entry.source).to_lowercase();
                    self.problems.push(format!("{source}: {}", entry.text));
                }
            }
            Event::RuntimeExceptionThrown(event) => {
                let details = &event.params.exception_details;
                let thrown = details.exception.as_ref().and_then(|thrown| thrown.description.clone());
                self.problems
                    .push(format!("exception: {}", thrown.unwrap_or_else(|| details.text.clone())));
            }
            Event::RuntimeConsoleAPICalled(event) => {
                let arguments = event.params.args.iter().map(|argument| format!("{:?}", argument.value));
                self.problems
                    .push(format!("console: {}", arguments.collect::<Vec<_>>().join(" ")));
            }
            _ => {}
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address that Chromium has written into its log.
fn address(log: &Path) -> Option<String> {
    let log = std::fs::read_to_string(log).ok()?;
    let (lines, _) = log.rsplit_once('\n')?;
    lines
        .lines()
        .find_map(|line| line.strip_prefix(LISTENING))
        .map(str::to_owned)
}

/// Chromium: what its variable names, else the first of its names on PATH.
#[track_caller]
fn program() -> PathBuf {
    const VARIABLE: &str = "BURST_CHROMIUM";
    if let Some(given) = env::var_os(VARIABLE).filter(|given| !given.is_empty()) {
        return given.into();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut candidates = env::split_paths(&path).flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
    candidates
        .find(|candidate| candidate.exists())
        .unwrap_or_else(|| panic!("Chromium is not on PATH: run `make setup`, or setup/chromium; or set {VARIABLE}"))
}
