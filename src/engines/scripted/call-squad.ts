import { z } from 'zod';

const REVISION = '2026-07-28';

const Reply = z.object({
  result: z
    .object({ content: z.array(z.object({ text: z.string().optional() })), isError: z.boolean().optional() })
    .optional(),
  error: z.object({ message: z.string() }).optional(),
});

export interface Answer {
  ok: boolean;
  text: string;
}

/** One tool of Squad's own server, called as the run this agent is. Throws when Squad cannot be reached. */
export async function callSquad(
  { SQUAD_MCP_URL: url, SQUAD_MCP_TOKEN: token }: NodeJS.ProcessEnv,
  name: string,
  args: Record<string, unknown>,
): Promise<Answer> {
  if (!url || !token) throw new Error('Squad cannot be called: this agent was given no address');
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: META },
    }),
  });
  const body = await response.text();
  const reply = lastMessage(body);
  const { result, error } = reply ?? {};
  if (result) return { ok: !result.isError, text: result.content.map(({ text = '' }) => text).join('\n') };
  // A hub that stops is followed by another.
  if (response.status === 503) throw new Error(`Squad cannot be called: ${error?.message ?? body.trim()}`);
  return { ok: false, text: error?.message ?? `HTTP ${response.status}: ${body.trim().slice(0, 500)}` };
}

const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'scripted-agent', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The body is the message, or a stream of events of which the last is. */
function lastMessage(body: string): z.infer<typeof Reply> | null {
  const events = body.split(/\r?\n/).filter(line => line.startsWith('data:'));
  const text = events.at(-1)?.slice('data:'.length) ?? body;
  try {
    const parsed = Reply.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null; // a refusal in plain words
  }
}
