import { z } from 'zod';
import {
  type Answer,
  type Conversation,
  pieces,
  SIGNATURE,
  sse,
  type Turn,
  type WireFormat,
} from './conversation.ts';

const part = z.looseObject({
  text: z.string().optional(),
  functionCall: z.unknown().optional(),
  functionResponse: z.looseObject({ response: z.unknown().optional() }).optional(),
});
const contents = z.looseObject({ role: z.string().optional(), parts: z.array(part).optional() });
const request = z.looseObject({
  contents: z.array(contents),
  systemInstruction: contents.optional(),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z
          .array(
            z.looseObject({
              name: z.string(),
              parameters: z.looseObject({}).optional(),
              parametersJsonSchema: z.looseObject({}).optional(),
            }),
          )
          .optional(),
      }),
    )
    .optional(),
});

const PATH = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Gemini's generateContent. */
export const gemini: WireFormat = {
  name: 'gemini',
  matches: path => PATH.test(path),
  read(body, url) {
    const [, model, method] = PATH.exec(url.pathname)!;
    const { contents: said, systemInstruction, tools = [] } = request.parse(body);
    return {
      model: model!,
      stream: method === 'streamGenerateContent',
      system: (systemInstruction?.parts ?? []).flatMap(({ text }) => text ?? []).join('\n'),
      turns: said.flatMap(turnsOf),
      tools: tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map(({ name, parameters, parametersJsonSchema }) => ({
          name,
          parameters: parametersJsonSchema ?? parameters ?? {},
        })),
    };
  },
  whole: (answer, conversation) => chunk(answer, conversation, parts(answer, [answer.text]), true),
  events(answer, conversation) {
    const all = parts(answer, pieces(answer.text));
    return all.map((one, index) => sse(chunk(answer, conversation, [one], index === all.length - 1)));
  },
  error: (status, message, retryAfter) => ({
    error: {
      code: status,
      message,
      status: ERRORS[status] ?? 'INTERNAL',
      ...(retryAfter && {
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }],
      }),
    },
  }),
};

const ERRORS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  529: 'UNAVAILABLE',
};

function turnsOf({ role, parts: given = [] }: z.infer<typeof contents>): Turn[] {
  const text = given.flatMap(one => one.text ?? []).join('\n');
  if (role === 'model') return [{ by: 'model', text }];
  const results = given.filter(({ functionResponse }) => functionResponse);
  return [
    ...results.map(
      (one): Turn => ({ by: 'tool', text: JSON.stringify(one.functionResponse!.response ?? {}) }),
    ),
    ...(text ? [{ by: 'user' as const, text }] : []),
  ];
}

/** Arguments are no text here: malformed ones are a string where an object should be. */
const parts = ({ thinking, calls }: Answer, texts: string[]): object[] => [
  ...(thinking ? [{ text: thinking, thought: true }] : []),
  ...texts.filter(Boolean).map(text => ({ text })),
  ...calls.map(({ tool, arguments: args, malformed }) => ({
    functionCall: { name: tool.name, args: malformed ?? args },
    ...(thinking && { thoughtSignature: SIGNATURE }),
  })),
];

const FINISHES = { whole: 'STOP', full: 'MAX_TOKENS', filtered: 'SAFETY', refused: 'PROHIBITED_CONTENT' };

function chunk(
  { id, stop, usage: { input, output, cached } }: Answer,
  { model }: Conversation,
  given: object[],
  last: boolean,
) {
  return {
    responseId: id,
    modelVersion: model,
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: given },
        ...(last && { finishReason: FINISHES[stop ?? 'whole'] }),
      },
    ],
    ...(last && {
      usageMetadata: {
        promptTokenCount: input,
        cachedContentTokenCount: cached,
        candidatesTokenCount: output,
        totalTokenCount: input + output,
      },
    }),
  };
}
