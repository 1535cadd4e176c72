import { SquadError } from '../schema/error.ts';

export function checkTask(task: string): void {
  if (task.trim() === '')
    throw new SquadError('TASK_EMPTY', 'The task is empty.', {
      suggestions: ['Say in a sentence or more what the agent should do.'],
    });
  checkText(task, 'The task');
}

/** Text that can be handed to a program: no NUL ends it early, and it has a UTF-8 form. */
export function checkText(text: string, what: string): void {
  const nul = text.indexOf('\0');
  if (nul >= 0)
    refuse(text, what, nul, 'a NUL character', 'Remove it: no program can be given text with NUL in it.');
  if (text.isWellFormed()) return;
  const half = loneSurrogate(text);
  refuse(
    text,
    what,
    half,
    'half of a surrogate pair',
    'Send the whole character, or remove it: half of one has no UTF-8 form.',
  );
}

/** Where a program prints an answer after whatever else it had to say. */
export function lastLine(output: string): string | null {
  for (const line of output.split(/\r\n|\n|\r/).reverse()) if (line.trim() !== '') return line.trim();
  return null;
}

function refuse(text: string, what: string, index: number, found: string, way: string): never {
  const before = text.slice(0, index);
  const line = before.split('\n').length;
  const column = index - before.lastIndexOf('\n');
  throw new SquadError('INVALID_TEXT', `${what} holds ${found} at line ${line}, column ${column}.`, {
    suggestions: [way],
  });
}

function loneSurrogate(text: string): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.codePointAt(index)!;
    if (unit > 0xffff) index++;
    else if (unit >= 0xd800 && unit <= 0xdfff) return index;
  }
  return -1;
}

/** Null for what is no JSON: a file of ours that somebody else wrote into. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
