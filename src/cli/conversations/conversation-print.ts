import { visibleLine } from '../../base/visible-text.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { statusWord } from '../terminal/status-word.ts';
import { wrap } from '../terminal/wrap.ts';
import { ConversationLines } from './conversation-lines.ts';
import { wholeConversation } from './whole-conversation.ts';

/** `squad conversation print RUN`: all that was said, for reading. */
export async function printConversation(
  run: string,
  { tools }: { tools: 'short' | 'full' },
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const conversation = await wholeConversation(client, run).finally(() => client.close());
  if (context.json) {
    printJson(context.out, conversation);
    return EXIT.done;
  }
  const { out, style } = context;
  const { label, title, status, messages, nested, note } = conversation;
  const head = [
    `${style.bold(visibleLine(label))}  ${statusWord(status)}  ${style.dim(`${messages.length} messages`)}`,
    visibleLine(title),
    '',
  ];
  const lines = new ConversationLines(messages, nested, {
    columns: out.columns,
    style,
    isFull: tools === 'full',
  });
  print(context, [
    ...head,
    ...(note === null ? [] : wrap(note, out.columns)),
    ...messages.flatMap(message => lines.of(message)),
  ]);
  return EXIT.done;
}
