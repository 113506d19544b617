//! The backend of ratatui, which writes escape sequences to standard output. Only `sys::terminal` changes and restores
//! the state of the terminal, because a signal handler may have to restore it.

use std::io::{self, Write as _};

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// Assumed size of a terminal that does not report its size.
const USUAL: Size = Size { width: 80, height: 24 };
/// Maximum number of columns, and of lines, of the terminal. A larger size is an error, because its cells would take
/// gigabytes of memory.
const LARGEST: u16 = 1000;

/// Backend of ratatui; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Ansi {
    out: Vec<u8>,
    colors: bool,
}

impl Ansi {
    pub(super) fn new(colors: bool) -> Self {
        Self { out: Vec::new(), colors }
    }

    fn style(&mut self, cell: &Cell) {
        self.out.extend(b"\x1b[0");
        if cell.modifier.contains(Modifier::BOLD) {
            self.out.extend(b";1");
        }
        if cell.modifier.contains(Modifier::DIM) {
            self.out.extend(b";2");
        }
        if let Some(code) = code(cell.fg).filter(|_| self.colors) {
            let _ = write!(self.out, ";{code}");
        }
        self.out.push(b'm');
    }
}

/// Returns the number of a colour in an escape sequence, or `None` for colours that the view does not use.
const fn code(color: Color) -> Option<u8> {
    match color {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Blue => Some(34),
        Color::Magenta => Some(35),
        Color::Cyan => Some(36),
        _ => None,
    }
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut at, mut look) = (None, None);
        for (x, y, cell) in content {
            if at != Some((x, y)) {
                write!(self.out, "\x1b[{};{}H", y + 1, x + 1)?;
            }
            if look != Some((cell.fg, cell.modifier)) {
                self.style(cell);
                look = Some((cell.fg, cell.modifier));
            }
            self.out.extend(cell.symbol().as_bytes());
            // A symbol that is not ASCII may fill two columns. After each symbol that is not ASCII, the backend sets
            // the position of the next cell explicitly.
            at = x.checked_add(1).map(|next| (next, y)).filter(|_| cell.symbol().is_ascii());
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.out.extend(b"\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = sys::terminal::size().map_or(USUAL, |(width, height)| Size { width, height });
        Ok(Size { width: size.width.min(LARGEST), height: size.height.min(LARGEST) })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(&self.out).and_then(|()| out.flush());
        self.out.clear();
        written
    }
}
