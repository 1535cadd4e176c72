import { SquadError } from '../../schema/error.ts';
import type { Interpolated, Piece } from './variables.ts';

/** An argument of the command: literal text and values, in order. */
export type Word = Piece[];

/**
 * Splits text by a shell's rules for words and quotes. No shell runs the command, so syntax that needs a shell is an
 * error.
 */
export function splitCommandLine(pieces: readonly Piece[]): Word[] {
  const cells = layOut(pieces);
  const words: Word[] = [];
  let word: Word | null = null;
  /** The beginning of the current word, while it is unquoted text, to recognise `NAME=`. Null otherwise. */
  let bare: string | null = '';

  const add = (piece: Piece, isBare = false) => {
    word ??= [];
    bare = isBare && bare !== null ? bare + piece : null;
    const last = word.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') word[word.length - 1] = last + piece;
    else word.push(piece);
  };
  const finish = () => {
    if (word) words.push(word);
    word = null;
    bare = '';
  };

  let at = 0;
  while (at < cells.length) {
    const cell = cells[at]!;
    const next = cells[at + 1];
    if (cell.value) add(cell.value);
    else if (isBlank(cell)) finish();
    else if (cell.char === "'" || cell.char === '"') {
      const quoted = cell.char === "'" ? singleQuoted(cells, at) : doubleQuoted(cells, at);
      for (const piece of quoted.pieces) add(piece);
      at = quoted.end;
    } else if (cell.char === '\\') {
      if (!next) refuse(cells, cell, 'ends with a backslash', 'Remove it.');
      if (next.value)
        refuse(cells, cell, 'has a backslash right before a value', 'Remove it: a value needs no escaping.');
      if (blankToLineEnd(cells, at + 1))
        refuse(cells, cell, 'has blanks between a backslash and the end of its line', 'Remove the blanks.');
      if (next.char !== '\n') add(next.char);
      at++;
    } else {
      if (SHELL_ONLY.has(cell.char)) refuseShell(cells, cell, expansionAt(cells, at));
      if (!word && cell.char === '~') refuseShell(cells, cell, '~');
      if (!word && cell.char === '#')
        refuse(
          cells,
          cell,
          'has an unquoted "#"',
          'For a comment write <% /* … */ %>; quote it if it is meant as it is.',
        );
      if (cell.char === '=' && words.length === 0 && bare !== null && NAME.test(bare))
        refuseShell(cells, cell, `${bare}=`);
      add(cell.char, true);
    }
    at++;
  }
  finish();
  return words;
}

const SHELL_ONLY = new Set('|;&<>()`$');
const NAME = /^[A-Za-z_][A-Za-z0-9_]*\+?$/;

/** Unit of parsing: one character of the template's text, or one whole value. */
interface Cell {
  char: string;
  value: Interpolated | null;
  line: number;
  column: number;
}

function layOut(pieces: readonly Piece[]): Cell[] {
  const cells: Cell[] = [];
  let line = 1;
  let column = 1;
  for (const piece of pieces) {
    if (typeof piece !== 'string') {
      cells.push({ char: '', value: piece, line, column });
      column += piece.tag.length;
      continue;
    }
    for (const char of piece) {
      cells.push({ char, value: null, line, column });
      column = char === '\n' ? 1 : column + 1;
      if (char === '\n') line++;
    }
  }
  return cells;
}

const isBlank = (cell: Cell) => cell.char === ' ' || cell.char === '\t' || cell.char === '\n';

function singleQuoted(cells: Cell[], open: number): { pieces: Piece[]; end: number } {
  const pieces: Piece[] = [''];
  for (let at = open + 1; at < cells.length; at++) {
    const cell = cells[at]!;
    if (cell.char === "'") return { pieces, end: at };
    pieces.push(cell.value ?? cell.char);
  }
  refuse(
    cells,
    cells[open]!,
    "has a ' that is never closed",
    "Close it, or write \\' if it is meant as it is.",
  );
}

function doubleQuoted(cells: Cell[], open: number): { pieces: Piece[]; end: number } {
  const pieces: Piece[] = [''];
  for (let at = open + 1; at < cells.length; at++) {
    const cell = cells[at]!;
    if (cell.char === '"') return { pieces, end: at };
    if (cell.char === '$' || cell.char === '`') refuseShell(cells, cell, expansionAt(cells, at));
    const next = cells[at + 1];
    if (cell.char === '\\' && next && !next.value && '$`"\\\n'.includes(next.char)) {
      if (next.char !== '\n') pieces.push(next.char);
      at++;
    } else pieces.push(cell.value ?? cell.char);
  }
  refuse(
    cells,
    cells[open]!,
    'has a " that is never closed',
    'Close it, or write \\" if it is meant as it is.',
  );
}

function blankToLineEnd(cells: Cell[], from: number): boolean {
  let at = from;
  while (cells[at]?.char === ' ' || cells[at]?.char === '\t') at++;
  return at > from && (at === cells.length || cells[at]!.char === '\n');
}

/** Returns `$NAME`, `${` or `$(` as a whole, and any other character alone. */
function expansionAt(cells: Cell[], at: number): string {
  const text = cells
    .slice(at, at + 40)
    .map(({ char }) => char || ' ')
    .join('');
  return /^\$(?:\w+|[({?@*#!$-])?/.exec(text)?.[0] ?? cells[at]!.char;
}

function refuseShell(cells: Cell[], cell: Cell, what: string): never {
  refuse(
    cells,
    cell,
    `needs a shell for "${what}"`,
    'Squad starts the program without a shell: put it in a script and call the script.',
    "If it is meant as it is, put it in single quotes ('…').",
  );
}

function refuse(cells: Cell[], cell: Cell, problem: string, ...suggestions: string[]): never {
  const shown = cells
    .filter(({ line }) => line === cell.line)
    .map(({ char, value }) => value?.tag ?? char)
    .join('')
    .trim();
  const excerpt = shown.length > 120 ? `${shown.slice(0, 120)}…` : shown;
  throw new SquadError(
    'TEMPLATE_INVALID',
    `The template ${problem} at line ${cell.line}, column ${cell.column}: ${excerpt}`,
    { suggestions },
  );
}
