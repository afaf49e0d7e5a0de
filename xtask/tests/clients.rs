//! The clients of docs/using-the-header.md, compiled and run by their own languages.

use burst_testkit::repository;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Values of the header, and what each client makes of them: the loads, and whether there is room.
const VALUES: [(&str, &str); 12] = [
    (
        "service=shop/web, current-load=1, target-load=4, max-load=5",
        "1 4 5 true",
    ),
    (
        "service=shop/web, current-load=4, target-load=4, max-load=5",
        "4 4 5 false",
    ),
    (
        "service=shop/web, current-load=9, target-load=4, max-load=5",
        "9 4 5 false",
    ),
    (
        "service=shop/web, current-load=0, target-load=0, max-load=0",
        "0 0 0 false",
    ),
    (
        "max-load=5, new, state=ok, target-load=4, age==, current-load=1",
        "1 4 5 true",
    ),
    ("service=shop/web, current-load=1, target-load=4", "none true"),
    (
        "service=shop/web, current-load=-1, target-load=4, max-load=5",
        "none true",
    ),
    (
        "service=shop/web, current-load=+1, target-load=4, max-load=5",
        "none true",
    ),
    (
        "service=shop/web, current-load=1.5, target-load=4, max-load=5",
        "none true",
    ),
    (
        "service=shop/web, current-load=, target-load=4, max-load=5",
        "none true",
    ),
    ("hello", "none true"),
    ("", "none true"),
];

/// The fenced code of a language on the page.
fn code(language: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/using-the-header.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a code block");
    rest.split_once("\n```").expect("its end").0.to_owned()
}

/// Runs a command in the folder of a client, with a value of the header as each of its last arguments.
#[track_caller]
fn assert_client(folder: &TempDir, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .args(VALUES.map(|(value, _)| value))
        .current_dir(folder)
        .env("GOFLAGS", "-mod=mod")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; the tests need it"));
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let found: Vec<_> = VALUES.iter().map(|(value, _)| *value).zip(printed.lines()).collect();
    assert_eq!(found, VALUES);
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

#[test]
fn the_go_client_reads_every_header() {
    let main = r#"package main

import (
	"clients/burst"
	"fmt"
	"os"
)

func main() {
	for _, header := range os.Args[1:] {
		load := burst.Parse(header)
		if load == nil {
			fmt.Println("none", burst.HasRoom(load))
		} else {
			fmt.Println(load.Current, load.Target, load.Max, burst.HasRoom(load))
		}
	}
}
"#;
    let module = ("go.mod", "module clients\n\ngo 1.22\n");
    let folder = folder(&[module, ("main.go", main), ("burst/burst.go", &code("go"))]);
    assert_client(&folder, "go", &["run", "."]);
}

#[test]
fn the_java_client_reads_every_header() {
    // Java runs the first class of a file.
    let main = r#"
class Main {
    public static void main(String[] headers) {
        for (String header : headers) {
            var load = Burst.parse(header);
            var text = load.map(known -> known.current() + " " + known.target() + " " + known.max()).orElse("none");
            System.out.println(text + " " + Burst.hasRoom(load));
        }
        if (Burst.parse(null).isPresent()) throw new AssertionError();
    }
}
"#;
    let client = code("java").replace("public record", "record");
    let (imports, record) = client.split_once("\n\n").expect("imports");
    let folder = folder(&[("Main.java", &format!("{imports}\n{main}\n{record}\n"))]);
    assert_client(&folder, "java", &["Main.java"]);
}

#[test]
fn the_javascript_client_reads_every_header() {
    let main = "
import { parse, hasRoom } from './burst.mjs';
for (const header of process.argv.slice(2)) {
  const load = parse(header);
  console.log(load ? `${load.current} ${load.target} ${load.max}` : 'none', hasRoom(load));
}
if (parse(undefined) !== null || parse(null) !== null) process.exit(1);
";
    let folder = folder(&[("main.mjs", main), ("burst.mjs", &code("javascript"))]);
    assert_client(&folder, "node", &["main.mjs"]);
}

#[test]
fn the_python_client_reads_every_header() {
    let main = "
import sys
from burst import has_room, parse
for header in sys.argv[1:]:
    load = parse(header)
    numbers = [load['current'], load['target'], load['max']] if load else ['none']
    print(*numbers, str(has_room(load)).lower())
assert parse(None) is None
";
    let folder = folder(&[("main.py", main), ("burst.py", &code("python"))]);
    assert_client(&folder, "python3", &["main.py"]);
}
