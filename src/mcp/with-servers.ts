import type { Definition, ForwardedRequest, GatewayView } from '../core/ports/gateway.ts';
import { clientOf } from '../wire/face/client-of.ts';
import type { Call, Face, Peer, ToolDef } from '../wire/face/face.ts';

type View = () => GatewayView | null;

/**
 * A face with Squad's own tools and those of other servers that the run may use. The view is read at each call,
 * because the configuration may change during the run.
 */
export function withServers(face: Face, view: View): Face {
  const notice = view()?.notice();
  return {
    ...face,
    // Logging is declared for log messages of servers that only this run uses.
    logging: true,
    ...(notice && { instructions: [face.instructions, notice].filter(Boolean).join('\n\n') }),
    tools: tools(face.tools, view),
    resources: resources(face.resources, view),
    prompts: prompts(face.prompts, view),
    complete: async (params, peer) => {
      const found = await view()?.complete({ ...params }, PLAIN_REQUEST);
      if (found) return found.completion as { values: string[]; total?: number };
      return (await face.complete?.(params, peer)) ?? { values: [] };
    },
    forwarded: {
      takes: name => view()?.isPlain(name) ?? false,
      call: async (name, params, request) =>
        (await view()?.call(name, params, { ...request, client: null })) ?? null,
    },
  };
}

function tools(own: Face['tools'], view: View): Face['tools'] {
  return {
    mayChange: true,
    async list(peer) {
      const [mine, theirs] = await Promise.all([own.list(peer), view()?.tools()]);
      const noted = withNotice(mine, view()?.notice() ?? null);
      return theirs ? joined(noted, theirs) : noted;
    },
    async call(name, args, call) {
      const servers = view();
      if (!servers?.takes(name)) return own.call(name, args, call);
      const raw = await servers.call(name, { name, arguments: args, ...answersIn(call) }, requestOf(call));
      return raw && { raw: raw as never };
    },
  };
}

function resources(own: Face['resources'], view: View): NonNullable<Face['resources']> {
  return {
    ...own,
    mayChange: true,
    list: peer => together(own?.list(peer), view()?.resources()),
    templates: peer => together(own?.templates?.(peer), view()?.resourceTemplates()),
    async read(uri, call) {
      const found = await own?.read(uri, call);
      if (found) return found;
      return (await view()?.readResource(uri, { uri, ...answersIn(call) }, requestOf(call))) as never;
    },
  };
}

function prompts(own: Face['prompts'], view: View): NonNullable<Face['prompts']> {
  return {
    mayChange: true,
    list: (peer: Peer) => together(own?.list(peer), view()?.prompts()),
    async get(name, args, call) {
      const found = await own?.get(name, args, call);
      if (found) return found;
      const params = { name, arguments: args, ...answersIn(call) };
      return (await view()?.getPrompt(name, params, requestOf(call))) as never;
    },
  };
}

/** Some clients never show a server's instructions to their model; all of them show tool descriptions. */
function withNotice(tools: ToolDef[], notice: string | null): ToolDef[] {
  if (notice === null) return tools;
  return tools.map(tool =>
    tool.name === 'squad_status' ? { ...tool, description: `${tool.description}\n\n${notice}` } : tool,
  );
}

const lists = new WeakMap<readonly Definition[], ToolDef[]>();

/**
 * Joins both lists. Returns the same object while both are unchanged, so that a long list is not serialised again.
 */
function joined(mine: ToolDef[], theirs: Definition[]): ToolDef[] {
  const last = lists.get(theirs);
  if (last && last.length === mine.length + theirs.length && mine.every((tool, i) => tool === last[i]))
    return last;
  const list = [...mine, ...(theirs as unknown as ToolDef[])];
  lists.set(theirs, list);
  return list;
}

/** Joins lists: Squad's own entries first, then those of other servers in their order. */
async function together<T>(
  own: Promise<T[]> | undefined,
  others: Promise<Definition[]> | undefined,
): Promise<T[]> {
  const [mine, theirs] = await Promise.all([own, others]);
  return [...(mine ?? []), ...((theirs ?? []) as unknown as T[])];
}

/** The client's answers to questions of a server. They are passed on unchanged in the second round. */
function answersIn({ raw }: Call): Record<string, unknown> {
  const { inputResponses } = raw.mcpReq;
  const requestState = raw.mcpReq.requestState();
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

function requestOf(call: Call): ForwardedRequest {
  return {
    signal: call.signal,
    progress: call.wantsProgress
      ? ({ message, progress, total }) => void call.progress(message, progress, total)
      : null,
    client: clientOf(call),
    ...(call.era === 'modern' && { capabilities: { ...call.capabilities } }),
  };
}

/** A completion has neither progress nor questions. */
const PLAIN_REQUEST: ForwardedRequest = {
  signal: new AbortController().signal,
  progress: null,
  client: null,
};
