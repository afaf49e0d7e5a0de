//! A headless Chromium, which shows pages to a test as it shows them to a person.

mod dev_tools;

use std::{
    cell::RefCell,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::dev_tools::DevTools;
use crate::{process::Process, wait};

/// Chromium starts in 2 s, and a page shows its first numbers at once, on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// The names of the program on PATH. setup/chromium has the same.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The start of the log line with the address of the DevTools protocol.
const LISTENING: &str = "DevTools listening on ";

/// The keys that write no text, with their codes in Windows, which the protocol takes.
const KEYS: [(&str, u32); 8] = [
    ("Tab", 9),
    ("Escape", 27),
    ("PageUp", 33),
    ("PageDown", 34),
    ("End", 35),
    ("Home", 36),
    ("ArrowUp", 38),
    ("ArrowDown", 40),
];

/// A running Chromium; it is gone when this is dropped.
pub struct Browser {
    dev_tools: Rc<RefCell<DevTools>>,
    // It ends before its folder is removed.
    _process: Process,
    _folder: TempDir,
}

/// An open page. Chromium passes keys only to the page that was opened last.
pub struct Page {
    dev_tools: Rc<RefCell<DevTools>>,
    session: String,
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
        ]);
        let mut process = Process::start("chromium", folder.path(), &mut command);
        let log = folder.path().join("chromium.log");
        let address = process.wait_for(PATIENCE, "Chromium listens", || address(&log).ok_or("it does not yet"));
        Self {
            dev_tools: Rc::new(RefCell::new(DevTools::connect(&address, PATIENCE))),
            _process: process,
            _folder: folder,
        }
    }

    /// Opens a page in a tab of its own, before all others.
    ///
    /// # Panics
    /// When Chromium does not answer, or nothing answers at the URL.
    #[must_use]
    #[track_caller]
    pub fn open(&self, url: &str) -> Page {
        let call = |method, parameters| self.dev_tools.borrow_mut().call(None, method, &parameters);
        let target = call("Target.createTarget", json!({"url": "about:blank"})).expect("a tab");
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = call("Target.attachToTarget", target).expect("a session");
        let page = Page {
            dev_tools: self.dev_tools.clone(),
            session: session["sessionId"].as_str().expect("the id of a session").to_owned(),
        };
        for domain in ["Log", "Network", "Page", "Runtime"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        let opened = page.call("Page.navigate", &json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
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
        let json = format!("JSON.stringify(({expression}) ?? null)");
        let mut result = self.call("Runtime.evaluate", &json!({"expression": json}));
        match result["result"]["value"].take() {
            Value::String(json) => serde_json::from_str(&json).expect("JSON"),
            _ => panic!("{expression}: {result}"),
        }
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
    /// When there is no such element.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let middle = self.value(&format!(
            "(element => {{
                element.scrollIntoView({{block: 'nearest'}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})(document.querySelector({selector:?}))"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Presses a key: one of those without a text, such as `Tab` and `ArrowDown`, or a character.
    ///
    /// # Panics
    /// When there is no such key.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let down = match KEYS.iter().find(|(name, _)| *name == key) {
            Some((_, code)) => json!({"type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}),
            None => {
                assert_eq!(key.chars().count(), 1, "`{key}` is not in KEYS");
                json!({"type": "keyDown", "key": key, "text": key})
            }
        };
        self.call("Input.dispatchKeyEvent", &down);
        let mut up = down;
        up["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Types a text into the element that has the focus.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Gives the page a window of this size, in CSS pixels.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets features of `@media`, such as `prefers-color-scheme: dark`.
    #[track_caller]
    pub fn prefer(&self, features: &[(&str, &str)]) {
        let features = features
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}));
        let features: Vec<_> = features.collect();
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// A PNG of the window.
    ///
    /// # Panics
    /// When Chromium cannot draw it.
    #[must_use]
    #[track_caller]
    pub fn screenshot(&self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let data = picture["data"].as_str().expect("a picture");
        BASE64_STANDARD.decode(data).expect("base64")
    }

    /// What went wrong since the page was opened: exceptions, what the script wrote to the console, and what Chromium itself
    /// reports, such as violations of the policy and requests that failed. Each begins with its source, such as `network`.
    #[must_use]
    #[track_caller]
    pub fn problems(&self) -> Vec<String> {
        self.events(problem)
    }

    /// The URLs that the page has asked for, its own the first.
    #[must_use]
    #[track_caller]
    pub fn requests(&self) -> Vec<String> {
        self.events(|event| match event["method"].as_str()? {
            "Network.requestWillBeSent" => event["params"]["request"]["url"].as_str().map(str::to_owned),
            _ => None,
        })
    }

    /// The events of this page until now.
    #[track_caller]
    fn events<T>(&self, select: impl Fn(&Value) -> Option<T>) -> Vec<T> {
        // Events come before the answer to a later call.
        self.value("0");
        let dev_tools = self.dev_tools.borrow();
        let own = dev_tools
            .events
            .iter()
            .filter(|event| event["sessionId"] == *self.session);
        own.filter_map(select).collect()
    }

    #[track_caller]
    fn call(&self, method: &str, parameters: &Value) -> Value {
        let result = self
            .dev_tools
            .borrow_mut()
            .call(Some(&self.session), method, parameters);
        result.unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }
}

/// The problem that an event tells of, if it does.
fn problem(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Log.entryAdded" => {
            let entry = &parameters["entry"];
            let is_problem = matches!(entry["level"].as_str(), Some("error" | "warning"));
            is_problem.then(|| format!("{}: {}", entry["source"].as_str().unwrap_or_default(), entry["text"]))
        }
        "Runtime.exceptionThrown" => Some(format!("exception: {}", parameters["exceptionDetails"])),
        "Runtime.consoleAPICalled" => Some(format!("console: {}", parameters["args"])),
        _ => None,
    }
}

/// The address that Chromium has written into its log.
fn address(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (lines, _) = log.rsplit_once('\n')?;
    let address = lines.lines().find_map(|line| line.strip_prefix(LISTENING))?;
    Some(address.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_in_a_page_is_a_problem() {
        let browser = Browser::start();
        let page = browser.open("data:text/html,<script>console.log('a'); missing()</script>");
        let problems = page.problems();
        assert!(problems[0].starts_with("console: "), "{problems:?}");
        assert!(problems[1].contains("missing is not defined"), "{problems:?}");
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
