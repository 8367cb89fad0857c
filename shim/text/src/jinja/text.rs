//! Python's notions of characters, words and case.

/// str.isspace() of one character.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r'
            | '\x0b'
            | '\x0c'
            | '\x1c'
            | '\x1d'
            | '\x1e'
            | '\u{85}'
            | '\u{2028}'
            | '\u{2029}'
    )
}

/// str.splitlines(keepends).
pub fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_line_end) {
        let mut end = at + rest[at..].chars().next().map_or(0, char::len_utf8);
        if rest[at..].starts_with("\r\n") {
            end = at + 2;
        }
        lines.push(&rest[..if keeps_ends { end } else { at }]);
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// The title case of a character: upper case, save for the digraphs that have
/// a form of their own, and where upper case is several letters.
fn title_char(c: char, out: &mut String) {
    let single = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        'ა'..='ჺ' | 'ჽ'..='ჿ' | 'ᾈ'..='ᾏ' | 'ᾘ'..='ᾟ' | 'ᾨ'..='ᾯ' => c,
        'ᾼ' | 'ῌ' | 'ῼ' => c,
        'ᾀ'..='ᾇ' | 'ᾐ'..='ᾗ' | 'ᾠ'..='ᾧ' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        'ᾳ' | 'ῃ' | 'ῳ' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        'ŉ' => return out.extend(c.to_uppercase()),
        _ => {
            let mut upper = c.to_uppercase();
            out.extend(upper.next());
            // "ß" becomes "Ss", "ﬁ" becomes "Fi".
            return out.extend(upper.flat_map(char::to_lowercase));
        }
    };
    out.push(single);
}

pub fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || is_title(c)
}

/// Letters in title case: the digraphs and the Greek letters with iota below.
pub fn is_title(c: char) -> bool {
    matches!(
        c,
        'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | 'ᾈ'..='ᾏ' | 'ᾘ'..='ᾟ' | 'ᾨ'..='ᾯ' | 'ᾼ' | 'ῌ' | 'ῼ'
    )
}

/// str.title().
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut follows_cased = false;
    for c in text.chars() {
        if follows_cased {
            out.extend(c.to_lowercase());
        } else {
            title_char(c, &mut out);
        }
        follows_cased = is_cased(c);
    }
    out
}

/// str.capitalize().
pub fn capitalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    if let Some(first) = chars.next() {
        title_char(first, &mut out);
    }
    out.push_str(&chars.as_str().to_lowercase());
    out
}

/// str.swapcase().
pub fn swap_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

/// jinja2's filter "title": words begin behind spaces, hyphens and opening
/// brackets.
pub fn title_words(text: &str) -> String {
    let begins = |c: char| is_space(c) || "-({[<".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut is_start = true;
    for c in text.chars() {
        if is_start {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        is_start = begins(c);
    }
    out
}

/// The byte offset of the character `index`, or the end.
pub fn offset(text: &str, index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

pub fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}
