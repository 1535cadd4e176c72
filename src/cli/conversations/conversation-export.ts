import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { visibleLine } from '../../base/visible-text.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { jsonLine, printJson } from '../terminal/json.ts';
import { messageMarkdown } from './conversation-markdown.ts';
import { type ConversationPage, wholeConversation } from './whole-conversation.ts';

export interface ExportOptions {
  format: 'jsonl' | 'md';
  output?: string;
}

/** `squad conversation export RUN`: the same for other programs, to standard output or into a new file. */
export async function exportConversation(
  run: string,
  { format, output }: ExportOptions,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const conversation = await wholeConversation(client, run).finally(() => client.close());
  if (conversation.note !== null)
    throw new SquadError('INVALID_INPUT', `There is no conversation of ${conversation.run} to export`, {
      suggestions: [conversation.note],
    });
  const text = format === 'md' ? markdown(conversation) : conversation.messages.map(jsonLine).join('');
  if (output === undefined) {
    context.out.write(text);
    return EXIT.done;
  }
  const file = resolve(output);
  await writeNew(file, text);
  const facts = { run: conversation.run, file, format, messages: conversation.messages.length };
  if (context.json) printJson(context.out, facts);
  else print(context, [file]);
  return EXIT.done;
}

const markdown = ({ label, messages }: ConversationPage): string =>
  `${[`# ${visibleLine(label)}`, ...messages.map(messageMarkdown)].join('\n\n')}\n`;

async function writeNew(path: string, content: string): Promise<void> {
  try {
    // It holds what an agent was told and saw: for the user's eyes until they pass it on.
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isThere = code === 'EEXIST';
    throw new SquadError('INVALID_INPUT', isThere ? `There is a file ${path}` : `${path}: ${message}`, {
      suggestions: [isThere ? 'Give another name: nothing is written over.' : 'Give another file.'],
      cause: thrown,
    });
  }
}
