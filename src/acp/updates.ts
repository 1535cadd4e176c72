import type {
  ContentBlock,
  McpServer,
  PermissionOption,
  PlanEntry,
  SessionUpdate,
  ToolKind,
} from '@agentclientprotocol/sdk';
import type { EditorServer } from '../core/gateway/editor-servers.ts';
import type { Output } from '../operations/operations.ts';
import { ALWAYS, type InboxItem, NO, YES } from '../schema/inbox.ts';

/** Conversions between the protocol and Squad. */

type Thread = Output<'show_thread'>;
type Step = Output<'read_steps'>['steps'][number];

/** A prompt as text. An agent CLI gets only text, so files are quoted, and links are named. */
export function promptText(blocks: readonly ContentBlock[]): string {
  return blocks
    .map(block => {
      if (block.type === 'text') return block.text;
      if (block.type === 'resource_link') return `\n${pathOf(block.uri)}\n`;
      if (block.type === 'resource' && 'text' in block.resource) {
        const { uri, text } = block.resource;
        const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
        return `\n${pathOf(uri)}:\n${fence}\n${text}\n${fence}\n`;
      }
      return '';
    })
    .join('')
    .trim();
}

const pathOf = (uri: string): string => {
  const url = URL.parse(uri);
  return url?.protocol === 'file:' ? decodeURIComponent(url.pathname) : uri;
};

export function editorServer(server: McpServer): EditorServer {
  const record = (pairs: readonly { name: string; value: string }[]) =>
    Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
  if ('command' in server) {
    const { name, command, args, env } = server;
    return { name, command, args: [...args], env: record(env) };
  }
  return { name: server.name, type: server.type, url: server.url, headers: record(server.headers) };
}

export const message = (
  who: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
): SessionUpdate => ({
  sessionUpdate: who,
  // Editors join the pieces of a message and read it as Markdown.
  content: { type: 'text', text: `${text.replace(/\n+$/, '')}\n\n` },
});

/** Converts the steps of one turn to updates of the editor. Remembers tool calls that have not ended. */
export class StepsShown {
  private readonly prefix: string;
  private readonly open: { id: string; name: string }[] = [];
  /** The last text that the agent has sent. Its answer may repeat that text. */
  private said = '';

  /** `prefix` makes the ids of tool calls unique in the thread, and the same after a restart. */
  constructor(prefix: string) {
    this.prefix = prefix;
  }

  updates(steps: readonly Step[]): SessionUpdate[] {
    return steps.flatMap(step => this.update(step));
  }

  /**
   * Returns the last updates of a turn: an end for each open tool call, and the answer unless it was already shown.
   */
  end(answer: string | null): SessionUpdate[] {
    const ended = this.open.splice(0).map(({ id }) => toolEnd(id, true));
    const text = answer?.trim() ?? '';
    return text === '' || this.said.includes(text) ? ended : [...ended, message('agent_message_chunk', text)];
  }

  private update(step: Step): SessionUpdate[] {
    if (step.kind === 'text') {
      this.said = `${this.said}${this.said === '' ? '' : '\n'}${step.text}`.slice(-MAX_SAID_LENGTH);
      return step.text.trim() === '' ? [] : [message('agent_message_chunk', step.text)];
    }
    if (step.kind === 'note') return [message('agent_thought_chunk', step.text)];
    if (step.kind === 'tool_end') {
      const at = this.open.findIndex(({ name }) => name === step.name);
      return at < 0 ? [] : [toolEnd(this.open.splice(at, 1)[0]!.id, step.ok)];
    }
    const { name, detail, edits, at } = step;
    // A line can begin several calls.
    const same = this.open.filter(({ id }) => id.startsWith(`${this.prefix}-${at}`)).length;
    const id = `${this.prefix}-${at}${same === 0 ? '' : `.${same}`}`;
    this.open.push({ id, name });
    return [
      {
        ...{ sessionUpdate: 'tool_call', toolCallId: id, status: 'in_progress' },
        ...{ title: `${name} ${detail}`.trim(), kind: edits ? 'edit' : toolKind(name) },
      },
    ];
  }
}

const MAX_SAID_LENGTH = 256 * 1024;

const toolEnd = (toolCallId: string, ok: boolean): SessionUpdate => ({
  ...{ sessionUpdate: 'tool_call_update', toolCallId },
  status: ok ? 'completed' : 'failed',
});

const KINDS: readonly [RegExp, ToolKind][] = [
  [/bash|shell|exec|command|^run/i, 'execute'],
  [/search|grep|glob|find/i, 'search'],
  [/fetch|web/i, 'fetch'],
  [/read|cat|list|^ls$/i, 'read'],
];

const toolKind = (name: string): ToolKind => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';

/** The members of a squad as the plan of the run that started them. */
export const planOf = ({ members }: Pick<Thread, 'members'>): PlanEntry[] =>
  members.map(({ name, title, status }) => ({
    content: `${name}: ${title}${GOOD.has(status) ? '' : ` (${status.replaceAll('_', ' ')})`}`,
    priority: 'medium',
    status: status === 'queued' ? 'pending' : WORKING.has(status) ? 'in_progress' : 'completed',
  }));

const WORKING: ReadonlySet<string> = new Set([
  'running',
  'waiting_review',
  'waiting_children',
  'waiting_limit',
]);
const GOOD: ReadonlySet<string> = new Set(['queued', 'running', 'completed']);

/**
 * Tokens and cost of the thread so far. Squad does not know the size of a model's context, and 0 stands for unknown. Null
 * if the engine reports no usage.
 */
export function usageOf({ runs }: Pick<Thread, 'runs'>): SessionUpdate | null {
  const figures = runs.flatMap(({ usage }) => usage ?? []);
  const used = sum(figures.flatMap(({ input, output }) => [input, output]));
  const amount = sum(figures.map(({ costUsd }) => costUsd));
  if (used === null && amount === null) return null;
  return {
    ...{ sessionUpdate: 'usage_update', used: used ?? 0, size: 0 },
    ...(amount !== null && { cost: { amount, currency: 'USD' } }),
  };
}

function sum(figures: readonly (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  return known.length === 0 ? null : known.reduce((total, figure) => total + figure, 0);
}

/** Options of a permission request, each with the answer that it sends. Empty for a question that needs free text. */
export function optionsOf({ kind, choices, fields }: InboxItem): (PermissionOption & { answer: string })[] {
  if (fields.length > 0) return [];
  if (kind === 'question')
    return choices.map((choice, at) => ({
      ...{ optionId: `choice-${at + 1}`, name: choice, kind: 'allow_once', answer: choice },
    }));
  return [
    { optionId: YES, name: 'Allow', kind: 'allow_once', answer: YES },
    ...(choices.includes(ALWAYS)
      ? [{ optionId: ALWAYS, name: 'Always in this run', kind: 'allow_always' as const, answer: ALWAYS }]
      : []),
    { optionId: NO, name: 'Refuse', kind: 'reject_once', answer: NO },
  ];
}

/** Text of a question that the user answers with the next prompt. */
export function questionText({ question, details, fields }: InboxItem): string {
  const form = fields.map(
    ({ name, title, type, choices, isRequired }) =>
      `- \`${name}\`: ${title}${choices.length > 0 ? ` (${choices.join(', ')})` : ` (${type})`}${isRequired ? '' : ', may be left out'}`,
  );
  const how =
    fields.length > 1
      ? 'Answer with a JSON object of these values, or with `decline`.'
      : 'Your next message is the answer.';
  return [
    `**${question}**`,
    ...(details === null ? [] : [details]),
    ...(form.length > 0 ? [form.join('\n')] : []),
    how,
  ].join('\n\n');
}
