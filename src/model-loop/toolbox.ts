import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { backOffMs } from '../base/back-off.ts';
import type { Sandbox } from '../code-mode/sandbox.ts';
import { type AgentRequest, agentCall, lastMessage } from '../schema/agent-protocol.ts';
import { AgentError } from './agent-error.ts';
import { programTool, valueFrom } from './program-tool.ts';
import { sendRequest } from './provider-http.ts';
import { type AnswerPart, type PlainTool, type Tool, type ToolAnswer, textAnswer } from './tool.ts';

const MAX_PAGES = 1000;

export interface Endpoint {
  url: string;
  token: string;
  /** Called when Squad cannot be reached. */
  onLost?(why: string): Promise<void>;
}

const fields = z.record(z.string(), z.unknown());
const Page = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string().default(''),
      inputSchema: fields,
      outputSchema: fields.optional(),
    }),
  ),
  nextCursor: z.string().optional(),
});

export async function endpointTools(endpoint: Endpoint, signal: AbortSignal): Promise<PlainTool[]> {
  const tools: PlainTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { result, error } = await ask(
      endpoint,
      'tools/list',
      cursor === undefined ? {} : { cursor },
      signal,
    );
    const listed = Page.safeParse(result);
    if (!listed.success)
      throw new AgentError(
        'ENGINE_FAILED',
        `Cannot list the tools of this run: ${error ?? 'the answer has no list'}`,
      );
    for (const { name, ...rest } of listed.data.tools)
      tools.push({ name, ...rest, call: (args, signal) => callTool(endpoint, name, args, signal) });
    cursor = listed.data.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

const Result = z.object({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

async function callTool(
  endpoint: Endpoint,
  name: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const { result, error } = await ask(endpoint, 'tools/call', { name, arguments: args }, signal);
  const read = Result.safeParse(result);
  if (!read.success) return textAnswer(false, error ?? 'The tool returned an invalid result');
  const { content, structuredContent, isError } = read.data;
  const parts = content.map(partOf);
  if (parts.length === 0 && structuredContent !== undefined)
    parts.push({ type: 'text', text: JSON.stringify(structuredContent) });
  return { ok: !isError, parts, ...(structuredContent !== undefined && { structured: structuredContent }) };
}

/** Content that a model cannot be given becomes a short note. */
function partOf(block: { type: string; [field: string]: unknown }): AnswerPart {
  const { type, text, data, mimeType, uri, name } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string')
    return { type, mediaType: mimeType, data };
  if (type === 'resource_link')
    return { type: 'text', text: `[${String(name ?? 'a resource')}: ${String(uri)}]` };
  const resource = fields.safeParse(block.resource).data;
  if (typeof resource?.text === 'string') return { type: 'text', text: resource.text };
  return {
    type: 'text',
    text: `[${type}${typeof mimeType === 'string' ? `, ${mimeType}` : ''}: cannot be shown]`,
  };
}

const Message = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** How long a request waits for an unreachable hub. */
const HUB_TIMEOUT_MS = 60_000;
const HUB_BACK_OFF_MS = { first: 100, max: 2_000 };

/**
 * Sends a request. If no hub received it, it is sent to the next hub. A question is sent again for as long as the turn
 * may last, because the next hub recognises it.
 */
async function ask(
  { url, token, onLost }: Endpoint,
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
): Promise<{ result?: unknown; error?: string }> {
  const until = performance.now() + HUB_TIMEOUT_MS;
  for (let failures = 0; ; await sleep(backOffMs(failures++, HUB_BACK_OFF_MS)))
    try {
      const answer = await sendRequest(new URL(url), {
        method: 'POST',
        ...agentCall('squad-agent', token, method, params),
        signal,
      });
      const body = await text(answer);
      const { result, error } = Message.safeParse(lastMessage(body)).data ?? {};
      if (result !== undefined) return { result };
      return { error: error?.message ?? `HTTP ${answer.statusCode}: ${body.trim().slice(0, 500)}` };
    } catch (thrown) {
      signal.throwIfAborted();
      const error = `Cannot reach Squad: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
      await onLost?.(error);
      signal.throwIfAborted();
      const isUnheard = (thrown as NodeJS.ErrnoException).code === 'ECONNREFUSED';
      const isRepeatable = params.name === 'ask_user' || (isUnheard && performance.now() <= until);
      if (!onLost || !isRepeatable) return { error };
    }
}

/** The tools of the model, except `final_answer`. No process is started for them before `prepare`. */
export interface Toolbox extends AsyncDisposable {
  tools: readonly Tool[];
  /** Starts processes that the next calls may need, while the model is still answering. */
  prepare(): void;
}

export async function openToolbox(
  { endpoint, codeMode }: { endpoint: Endpoint | null; codeMode: AgentRequest['codeMode'] },
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Toolbox> {
  const listing = endpoint === null ? [] : endpointTools(endpoint, signal);
  if (codeMode === null) return { tools: await listing, prepare() {}, async [Symbol.asyncDispose]() {} };
  // These modules are loaded only for code mode.
  const [tools, sandbox, { createCodeRunner }] = await Promise.all([
    listing,
    requireSandbox(env),
    import('../code-mode/code-runner.ts'),
  ]);
  const { excludedTools, ...limits } = codeMode;
  const isExcluded = ({ name }: PlainTool) => excludedTools.includes(name);
  const runner = createCodeRunner({
    limits,
    sandbox,
    tools: tools
      .filter(tool => !isExcluded(tool))
      .map(tool => ({ ...tool, call: (args, signal) => valueFrom(tool, args, signal) })),
  });
  return {
    tools: [programTool(runner), ...tools.filter(isExcluded)],
    prepare: () => void runner.prepare(),
    [Symbol.asyncDispose]: () => runner.close(),
  };
}

async function requireSandbox(env: NodeJS.ProcessEnv): Promise<Sandbox> {
  const { findSandbox } = await import('../code-mode/sandbox.ts');
  const sandbox = await findSandbox(env);
  if ('missing' in sandbox)
    throw new AgentError('SANDBOX_MISSING', [sandbox.missing, ...sandbox.suggestions].join(' '));
  return sandbox;
}
