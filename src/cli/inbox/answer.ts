import { createInterface } from 'node:readline/promises';
import { visibleLine } from '../../base/visible-text.ts';
import type { ShownItem } from '../../operations/inbox/list-inbox.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { DECLINE } from '../../schema/inbox.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { readInput } from '../read-input.ts';
import { printJson } from '../terminal/json.ts';
import { answerHint } from './ask-text.ts';
import { itemLines } from './inbox.ts';

/** `squad answer ITEM [ANSWER]`: without words, whoever is at the terminal is asked. */
export async function answerCommand(
  given: string,
  words: string[],
  { decline }: { decline?: boolean },
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start();
  try {
    const answered =
      words.length === 0 && !decline
        ? await answerHere(client, given, context)
        : await client.call('answer_question', {
            item: given,
            ...(words.length > 0 && { answer: await spoken(words) }),
            ...(decline && { decline }),
          });
    if (context.json) printJson(context.out, answered);
    else
      print(context, [
        `${context.style.green(answered.state)}  ${answered.id}  ${visibleLine(answered.answer ?? '')}`.trimEnd(),
      ]);
    return EXIT.done;
  } finally {
    client.close();
  }
}

type Answered = Output<'answer_question'>;

const send = (client: HubClient, item: string, answer: string): Promise<Answered> =>
  client.call('answer_question', { item, answer });

const spoken = async (words: string[]): Promise<string> =>
  words.length === 1 && words[0] === '-' ? readInput() : words.join(' ');

/** Whoever is there is asked until the answer is one. */
async function answerHere(client: HubClient, given: string, context: CliContext): Promise<Answered> {
  const { items } = await client.call('list_inbox', { item: given });
  const item = items[0]!;
  // The hub says what became of it.
  if (item.state !== 'open') return send(client, item.id, '');
  if (context.json || !process.stdin.isTTY || !context.out.isTTY)
    throw new SquadError(
      'ANSWER_NEEDED',
      `Nobody is at the terminal to answer ${item.id}: ${visibleLine(item.question)}`,
      {
        suggestions: [answerHint(item)],
      },
    );
  print(context, itemLines(item, context));
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (;;) {
      const said = item.fields.length > 0 ? await form(item, asking) : await asking.question('Answer: ');
      try {
        return await send(client, item.id, said);
      } catch (thrown) {
        if (!(thrown instanceof SquadError) || thrown.code !== 'ANSWER_INVALID') throw thrown;
        print(context, [
          context.style.yellow(visibleLine(thrown.message)),
          ...thrown.suggestions.map(visibleLine),
        ]);
      }
    }
  } finally {
    asking.close();
  }
}

async function form(
  { fields }: ShownItem,
  asking: { question(text: string): Promise<string> },
): Promise<string> {
  const values: Record<string, string> = {};
  for (const { name, choices, isRequired } of fields) {
    const hint = [...choices.map(visibleLine), ...(isRequired ? [] : ['empty: none'])].join(', ');
    const value = await asking.question(`${visibleLine(name)}${hint === '' ? '' : ` (${hint})`}> `);
    if (value.trim() !== '') values[name] = value.trim();
  }
  const goesOn = await asking.question('Send this? [Y/n] ');
  return /^n/i.test(goesOn.trim()) ? DECLINE : JSON.stringify(values);
}
