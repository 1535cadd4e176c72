import type { Redactor } from '../redaction/redactor.ts';
import type { AgentLine } from '../schema/agent-line.ts';
import { isTooLong, shortened } from './bounded-line.ts';
import { keptPart } from './kept-part.ts';

type WithoutTime<Line> = Line extends { at: number } ? Omit<Line, 'at'> : never;
export type LineBody = WithoutTime<AgentLine>;

/** Says one event. Nothing else is ever on standard output, and no line is longer than whoever reads it takes. */
export type Say = (body: LineBody) => void;

export interface Voice {
  /** Returns what was told in the end: without secrets, and short enough. */
  say(body: LineBody): LineBody;
  /** From here on no line has these in it, whoever said them. */
  hide(secrets: Redactor): void;
}

/** Of a call and of what came back, here: all of it is in the messages. */
const LONGEST_DETAIL = 200;

export function voiceOn(output: { write(text: string): unknown }): Voice {
  let secrets: Redactor | null = null;
  return {
    say(body) {
      const at = Date.now();
      const clean = short(secrets ? without(secrets, body) : body);
      const line = JSON.stringify({ at, ...clean });
      const told = isTooLong(line) ? shortened(clean) : clean;
      output.write(`${told === clean ? line : JSON.stringify({ at, ...told })}\n`);
      return told;
    },
    hide(redactor) {
      secrets = redactor;
    },
  };
}

/** Figures, and what kind of line it is, stay as they are. */
function without({ text, deep }: Redactor, body: LineBody): LineBody {
  switch (body.type) {
    case 'text':
    case 'note':
      return { ...body, text: text(body.text) };
    case 'tool':
    case 'tool_end':
      return { ...body, name: text(body.name), detail: text(body.detail) };
    case 'message':
      return { ...body, message: { ...body.message, content: deep(body.message.content) } };
    case 'end':
      return {
        ...body,
        answer: text(body.answer),
        ...('structured' in body && { structured: deep(body.structured) }),
        error: body.error === null ? null : text(body.error),
      };
    default:
      return body;
  }
}

/** Cut when nothing is in it any more that a cut could part. */
function short(body: LineBody): LineBody {
  if (body.type === 'message' && body.message.role === 'program')
    return { ...body, message: { ...body.message, content: body.message.content.map(keptPart) } };
  if (body.type !== 'tool' && body.type !== 'tool_end') return body;
  const { detail } = body;
  if (detail.length <= LONGEST_DETAIL) return body;
  return { ...body, detail: `${detail.slice(0, LONGEST_DETAIL).toWellFormed()}…` };
}
