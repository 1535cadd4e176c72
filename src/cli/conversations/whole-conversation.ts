import type { Output } from '../../operations/operations.ts';
import type { HubClient } from '../hub-client.ts';

export type ConversationPage = Output<'get_conversation'>;

/** Every message of a run, however many pages that takes. */
export async function wholeConversation(client: HubClient, run: string): Promise<ConversationPage> {
  const ask = (after: number) => client.call('get_conversation', { run, after, isWhole: true });
  const first = await ask(0);
  for (let { next } = first; next !== null; ) {
    const page = await ask(next);
    first.messages.push(...page.messages);
    ({ next } = page);
  }
  return { ...first, next: null };
}
