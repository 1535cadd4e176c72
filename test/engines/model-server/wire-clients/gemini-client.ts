import { type Heard, SHELL, type WireClient } from './wire-client.ts';

interface Part {
  text?: string;
  functionCall?: { name: string; args: unknown };
}

interface Chunk {
  candidates: { content: { parts: Part[] } }[];
  usageMetadata?: { promptTokenCount: number; candidatesTokenCount: number; cachedContentTokenCount: number };
}

export const geminiClient: WireClient = {
  path: stream => `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: prompt => ({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    tools: [{ functionDeclarations: [{ name: 'run_shell_command', parametersJsonSchema: SHELL }] }],
  }),
  whole: answer => heard([answer as Chunk]),
  streamed: events => heard(events as Chunk[]),
};

function heard(chunks: Chunk[]): Heard {
  const parts = chunks.flatMap(({ candidates }) => candidates[0]!.content.parts);
  const tool = parts.find(({ functionCall }) => functionCall)?.functionCall;
  const usage = chunks.at(-1)!.usageMetadata!;
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    call: tool ? { name: tool.name, arguments: tool.args } : null,
    input: usage.promptTokenCount,
    output: usage.candidatesTokenCount,
    cached: usage.cachedContentTokenCount,
  };
}
