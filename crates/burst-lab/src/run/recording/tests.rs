//! The SVG is well-formed and shows the cells of each frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use roxmltree::{Document, Node};

use super::{cells, svg};

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

fn frame(lines: &[Line<'_>]) -> Buffer {
    let area = Rect::new(0, 0, 20, 4);
    let mut buffer = Buffer::empty(area);
    for (line, y) in lines.iter().zip(0..) {
        line.clone().render(Rect { y, height: 1, ..area }, &mut buffer);
    }
    buffer
}

fn frames() -> [Buffer; 3] {
    let title = || Line::from(vec!["a < b & c".bold(), "   dim".dim()]);
    [
        frame(&[title(), Line::from("▁▂▃█·".green())]),
        frame(&[title(), Line::from(vec!["  ██".red(), "▔─".dark_gray()])]),
        frame(&[title(), Line::default(), Line::default(), Line::from("last  of all")]),
    ]
}

fn attribute(node: Node<'_, '_>, name: &str) -> usize {
    let value = node.attribute(name).unwrap_or_else(|| panic!("{node:?} has no {name}"));
    value.parse().unwrap_or_else(|_| panic!("{name} of {node:?}"))
}

/// Reads the characters of each frame back from the SVG.
fn read(svg: &str) -> Vec<Vec<String>> {
    let document = Document::parse(svg).unwrap();
    let film = document
        .descendants()
        .find(|node| node.attribute("class") == Some("film"))
        .unwrap();
    let frames = film.children().filter(|node| node.has_tag_name("g"));
    frames.map(|frame| read_frame(&document, frame)).collect()
}

fn read_frame(document: &Document<'_>, frame: Node<'_, '_>) -> Vec<String> {
    let mut rows = vec![vec![' '; 20]; 4];
    for used in frame.children().filter(|node| node.has_tag_name("use")) {
        let id = used.attribute("href").unwrap().trim_start_matches('#');
        let row = document
            .descendants()
            .find(|node| node.attribute("id") == Some(id))
            .unwrap();
        let cells = &mut rows[attribute(used, "y") / usize::from(cells::HEIGHT)];
        for element in row.children().filter(Node::is_element) {
            match element.attribute("d") {
                Some(path) => read_path(path, cells),
                None => read_text(element, cells),
            }
        }
    }
    rows.into_iter().map(String::from_iter).collect()
}

fn read_text(text: Node<'_, '_>, cells: &mut [char]) {
    let words = text.text().unwrap();
    let width = usize::from(cells::WIDTH);
    assert_eq!(attribute(text, "textLength"), words.chars().count() * width, "{words}");
    let x = attribute(text, "x") / width;
    cells[x..].iter_mut().zip(words.chars()).for_each(|(cell, c)| *cell = c);
}

/// Each rectangle is `M{left} {top}h{width}v{height}h-{width}z`.
fn read_path(path: &str, cells: &mut [char]) {
    for rectangle in path.split('M').skip(1) {
        let numbers: Vec<usize> = rectangle
            .split([' ', 'h', 'v', 'z', '-'])
            .filter(|number| !number.is_empty())
            .map(|number| number.parse().unwrap())
            .collect();
        let [left, top, width, height, back] = numbers[..] else {
            panic!("{rectangle}")
        };
        assert_eq!(width, back);
        let symbol = match (top, height) {
            (0, 2) => '▔',
            (7, 2) => '─',
            (top, height) => {
                assert_eq!(top + height, 16, "it stands on the bottom of its cell: {rectangle}");
                BLOCKS[height / 2]
            }
        };
        let of_cells = left / 8..(left + width) / 8;
        cells[of_cells].fill(symbol);
    }
}

fn symbols(frame: &Buffer) -> Vec<String> {
    let rows = frame.content().chunks(20);
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
        .collect()
}

#[test]
fn every_cell_of_every_frame_is_in_the_file() {
    let frames = frames();
    assert_eq!(read(&svg::animation(&frames)), frames.each_ref().map(symbols));
}

#[test]
fn a_row_that_stays_the_same_is_written_once() {
    let svg = svg::animation(&frames());
    assert_eq!(svg.matches("a &lt; b &amp; c").count(), 1, "{svg}");
}

#[test]
fn each_frame_is_shown_for_a_quarter_of_a_second_and_the_last_one_longer() {
    let svg = svg::animation(&frames());
    // Two steps of a quarter of a second, and two seconds for the last frame: 20 % of the time.
    assert!(svg.contains("animation:film 2500ms steps(2) infinite"), "{svg}");
    assert!(svg.contains("20%,to{transform:translateX(-320px)}"), "{svg}");
}

#[test]
fn the_file_needs_nothing_from_elsewhere() {
    let svg = svg::animation(&frames());
    let addresses: Vec<_> = svg.match_indices("://").map(|(at, _)| &svg[at..at + 13]).collect();
    assert_eq!(addresses, ["://www.w3.org"], "the name of the format");
    assert!(
        !svg.contains("<script") && !svg.contains("@import") && !svg.contains("url("),
        "{svg}"
    );
}

#[test]
fn the_recording_in_the_documentation_has_both_clients_and_a_503() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo.svg");
    let svg = std::fs::read_to_string(path).expect("`make recording` writes docs/demo.svg");
    assert!(svg.len() < 300_000, "{} bytes", svg.len());
    let document = Document::parse(&svg).unwrap();
    let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
    for text in ["ignores x-burst", "reads x-burst", "5 of 5"] {
        assert!(texts.contains(&text), "{text}");
    }
    let time = svg.split_once("animation:film ").unwrap().1.split_once("ms").unwrap().0;
    assert!(time.parse::<u32>().unwrap() <= 20_000, "{time} ms");
}
