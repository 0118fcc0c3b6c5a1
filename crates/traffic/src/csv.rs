//! Tables in CSV: a header line with the names of columns, then one line per row.

use crate::error::{Error, Faults, nearest, shown};

/// The columns of a table. [`Row`] identifies a column by its index in this order.
pub(crate) struct Columns {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

impl Columns {
    fn all(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.required.iter().chain(self.optional).copied()
    }

    /// Describes the required and optional columns, for messages.
    fn described(&self) -> String {
        let required = self.required.join(", ");
        match self.optional {
            [] => format!("required are {required}"),
            optional => format!(
                "required are {required}; optional are {}",
                optional.join(", ")
            ),
        }
    }
}

/// One field of a line: its text, and its position in the file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Field<'a> {
    pub line: usize,
    pub column: usize,
    pub text: &'a str,
}

impl Field<'_> {
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::at(self.line, self.column, message)
    }
}

/// The fields of one line, accessed by index of the column.
pub(crate) struct Row<'a, 'b> {
    fields: &'b [Field<'a>],
    /// For each column of the table, the position of its field in the line; `None`: the line has no
    /// such field.
    places: &'b [Option<usize>],
}

impl<'a> Row<'a, '_> {
    /// Returns the field of a required column.
    pub fn required(&self, column: usize) -> Field<'a> {
        self.places[column].map_or(Field::default(), |place| self.fields[place])
    }

    /// Returns the field of an optional column, if it exists and is not empty.
    pub fn optional(&self, column: usize) -> Option<Field<'a>> {
        let field = self.fields[self.places[column]?];
        (!field.text.is_empty()).then_some(field)
    }
}

/// Splits a line into fields, without blanks and enclosing quotes.
fn split<'a>(line: usize, text: &'a str, found: &mut Vec<Field<'a>>) {
    found.clear();
    let mut column = 1;
    for raw in text.split(',') {
        let blanks = raw.chars().take_while(|c| c.is_whitespace()).count();
        let trimmed = raw.trim();
        let bare = trimmed
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(trimmed);
        found.push(Field {
            line,
            column: column + blanks,
            text: bare,
        });
        column += raw.chars().count() + 1;
    }
}

/// Returns the lines of a text with their line numbers, except empty lines and comments (`#`).
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.trim_start_matches('\u{feff}').lines())
        .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

/// Reads a table without a header line. Its columns are the required columns, in their order.
///
/// # Errors
/// All errors of the text, each with line and column.
pub(crate) fn read_bare<'a>(
    text: &'a str,
    columns: &Columns,
    read: impl FnMut(&Row<'a, '_>) -> Result<(), Error>,
) -> Result<(), Vec<Error>> {
    let places: Vec<_> = (0..columns.required.len()).map(Some).collect();
    rows(lines(text), &places, columns.required.len(), read)
}

/// Reads a table and calls `read` with each row. Unknown columns are ignored.
///
/// # Errors
/// All errors of the text, each with line and column. On success the function returns warnings
/// about unknown columns.
pub(crate) fn read<'a>(
    text: &'a str,
    columns: &Columns,
    read: impl FnMut(&Row<'a, '_>) -> Result<(), Error>,
) -> Result<Vec<Error>, Vec<Error>> {
    let mut lines = lines(text);
    let Some((header_line, header)) = lines.next() else {
        let what = format!(
            "the table is empty; the first line names the columns: {}",
            columns.described()
        );
        return Err(vec![Error::at(1, 1, what)]);
    };
    let mut fields = Vec::new();
    split(header_line, header, &mut fields);
    let (places, unknown) = header_places(&fields, columns)?;
    let width = fields.len();
    rows(lines, &places, width, read)?;
    Ok(unknown)
}

/// Calls `read` with the fields of each line.
fn rows<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    places: &[Option<usize>],
    width: usize,
    mut read: impl FnMut(&Row<'a, '_>) -> Result<(), Error>,
) -> Result<(), Vec<Error>> {
    let mut faults = Faults::default();
    let mut fields = Vec::new();
    let mut last = 0;
    for (number, line) in lines {
        last = number;
        split(number, line, &mut fields);
        if fields.len() == width {
            let row = Row {
                fields: &fields,
                places,
            };
            faults.note(read(&row));
            continue;
        }
        let what = format!(
            "{} fields; expected {width}, one for each column",
            fields.len()
        );
        let at = fields.last().map_or(1, |field| field.column);
        faults.add(Error::at(number, at, what));
    }
    if last == 0 {
        faults.add(Error::new("there is no line after the header line"));
    }
    faults.result()
}

/// For each column the index of its field in a line, and warnings about unknown columns.
type Header = (Vec<Option<usize>>, Vec<Error>);

/// Finds the columns of the table in a header line.
fn header_places(fields: &[Field<'_>], columns: &Columns) -> Result<Header, Vec<Error>> {
    let mut places = vec![None; columns.all().count()];
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        match columns.all().position(|column| column == field.text) {
            Some(known) if places[known].is_some() => {
                wrong.push(field.error(format!("column '{}' is there twice", field.text)));
            }
            Some(known) => places[known] = Some(index),
            None => {
                let hint = nearest(field.text, columns.all())
                    .map_or(String::new(), |near| format!("did you mean '{near}'? "));
                unknown.push(field.error(format!(
                    "column '{}' is not used; {hint}{}",
                    shown(field.text),
                    columns.described()
                )));
            }
        }
    }
    for (column, place) in columns.required.iter().zip(&places) {
        if place.is_none() {
            let near = unknown_like(fields, column, columns);
            let what = format!(
                "column '{column}' is missing{near}; {}",
                columns.described()
            );
            let (line, at) = fields
                .first()
                .map_or((1, 1), |field| (field.line, field.column));
            wrong.push(Error::at(line, at, what));
        }
    }
    if wrong.is_empty() {
        Ok((places, unknown))
    } else {
        Err(wrong)
    }
}

/// Formats a hint if an unknown column is possibly a misspelling of the missing column.
fn unknown_like(fields: &[Field<'_>], column: &str, columns: &Columns) -> String {
    let unknown = fields.iter().map(|field| field.text);
    let unknown = unknown.filter(|text| columns.all().all(|known| known != *text));
    nearest(column, unknown).map_or(String::new(), |near| {
        format!(" (is '{}' meant?)", shown(near))
    })
}
