//! GML (Himsolt 1997): keys with numbers, quoted texts, or lists of keys in brackets.

use super::stated::{Attributes, Stated};

/// The deepest list within lists.
const DEEPEST: usize = 64;

enum Value {
    Text(String),
    List(Vec<(String, Value)>),
}

/// Reads the first graph of a file.
pub(super) fn parse(text: &str) -> Result<Stated, String> {
    let mut words = Words { text, line: 1 };
    let keys = list(&mut words, 0)?;
    let graph = keys.into_iter().find_map(|(key, value)| match value {
        Value::List(keys) if key.eq_ignore_ascii_case("graph") => Some(keys),
        _ => None,
    });
    let mut stated = Stated::default();
    for (key, value) in graph.ok_or("it has no graph")? {
        match (key.as_str(), value) {
            ("directed", Value::Text(text)) => stated.is_directed = text == "1",
            ("node", Value::List(keys)) => {
                let attributes = attributes(keys);
                stated.nodes.push((needed(&attributes, "node", "id")?, attributes));
            }
            ("edge", Value::List(keys)) => {
                let attributes = attributes(keys);
                let [source, target] = ["source", "target"].map(|end| needed(&attributes, "edge", end));
                stated.edges.push((source?, target?, attributes));
            }
            _ => {}
        }
    }
    Ok(stated)
}

fn attributes(keys: Vec<(String, Value)>) -> Attributes {
    let texts = keys.into_iter().filter_map(|(key, value)| match value {
        Value::Text(text) => Some((key, text)),
        Value::List(_) => None,
    });
    texts.collect()
}

fn needed(attributes: &Attributes, of: &str, name: &str) -> Result<String, String> {
    attributes.get(name).cloned().ok_or_else(|| format!("a {of} has no `{name}`"))
}

/// The keys of a list, up to its bracket, or to the end of the file.
fn list(words: &mut Words<'_>, depth: usize) -> Result<Vec<(String, Value)>, String> {
    if depth > DEEPEST {
        return Err(format!("line {}: lists are nested more than {DEEPEST} deep", words.line));
    }
    let mut keys = Vec::new();
    loop {
        let key = match words.next()? {
            None if depth == 0 => return Ok(keys),
            None => return Err("it ends within a list".to_owned()),
            Some(Word::Close) if depth > 0 => return Ok(keys),
            Some(Word::Plain(key)) => key,
            Some(_) => return Err(format!("line {}: expected a key", words.line)),
        };
        let value = match words.next()? {
            Some(Word::Open) => Value::List(list(words, depth + 1)?),
            Some(Word::Plain(text) | Word::Quoted(text)) => Value::Text(text),
            _ => return Err(format!("line {}: `{key}` has no value", words.line)),
        };
        keys.push((key, value));
    }
}

enum Word {
    Open,
    Close,
    Plain(String),
    Quoted(String),
}

struct Words<'t> {
    text: &'t str,
    line: usize,
}

impl Words<'_> {
    /// The next word; `None` at the end.
    fn next(&mut self) -> Result<Option<Word>, String> {
        loop {
            let trimmed = self.text.trim_start();
            self.skip(self.text.len() - trimmed.len());
            if !self.text.starts_with('#') {
                break;
            }
            self.skip(self.text.find('\n').unwrap_or(self.text.len()));
        }
        let Some(first) = self.text.chars().next() else { return Ok(None) };
        match first {
            '[' => Ok(Some(self.single(Word::Open))),
            ']' => Ok(Some(self.single(Word::Close))),
            '"' => {
                let end = self.text[1..].find('"');
                let end = end.ok_or_else(|| format!("line {}: a text has no end", self.line))? + 1;
                let text = unescaped(&self.text[1..end]);
                self.skip(end + 1);
                Ok(Some(Word::Quoted(text)))
            }
            _ => {
                let end = self.text.find(|c: char| c.is_whitespace() || "[]\"".contains(c));
                let end = end.unwrap_or(self.text.len());
                let text = self.text[..end].to_owned();
                self.skip(end);
                Ok(Some(Word::Plain(text)))
            }
        }
    }

    fn single(&mut self, word: Word) -> Word {
        self.skip(1);
        word
    }

    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.text.split_at(bytes);
        self.line += passed.matches('\n').count();
        self.text = rest;
    }
}

/// A text with the character entities that GML has for quotes and ampersands.
fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
