import { exposedUri } from '../../core/gateway/tool-names.ts';
import type { Json } from '../../wire/upstream/link.ts';

/** Keys of `_meta` that count only between two neighbours of the protocol. */
const RESERVED = /^(progressToken$|([^/]*\.)?(modelcontextprotocol|mcp)(\.[^/]*)?\/)/;

/** The object without reserved keys in its `_meta`; the same object when it has none. */
export function withoutReservedMeta<T extends Record<string, unknown>>(value: T): T {
  const meta = value._meta;
  if (meta === undefined) return value;
  const { _meta, ...rest } = value;
  if (typeof meta !== 'object' || meta === null) return rest as T;
  const kept = Object.entries(meta).filter(([key]) => !RESERVED.test(key));
  return (kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) }) as T;
}

/** All texts of one result share a number of bytes. Further text is cut, with a note that says how much is missing. */
interface TextBudget {
  take(text: string): string;
}

function createTextBudget(bytes: number): TextBudget {
  let left = bytes;
  return {
    take(text) {
      if (left === Number.POSITIVE_INFINITY) return text;
      const size = Buffer.byteLength(text);
      if (size <= left) {
        left -= size;
        return text;
      }
      const kept = cutTo(text, left);
      left = 0;
      return `${kept}\n[cut by Squad: ${size - Buffer.byteLength(kept)} of ${size} bytes are not shown; ask for less at a time]`;
    },
  };
}

/** As many whole characters as fit. */
function cutTo(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  let end = bytes;
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** Turns a server's result into the one for the agent: exposed URIs, texts within the limit, no reserved `_meta`. `textBytes` is Infinity if the whole result is known to fit. */
export type Shape = (result: Json, server: string, textBytes: number) => Json;

export const shapeToolResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const shaped = withoutReservedMeta(result);
  const content = mapped(shaped.content, block => contentBlock(block, server, budget));
  const withContent = content === shaped.content ? shaped : { ...shaped, content };
  return withinBounds(withContent, textBytes);
};

export const shapeReadResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const contents = mapped(result.contents, item => resourceText(item, server, budget));
  return { ...withoutReservedMeta(result), contents };
};

export const shapePromptResult: Shape = (result, server, textBytes) => {
  const budget = createTextBudget(textBytes);
  const messages = mapped(result.messages, message =>
    isJson(message.content)
      ? { ...message, content: contentBlock(message.content, server, budget) }
      : message,
  );
  return { ...withoutReservedMeta(result), messages };
};

export const shapePlainResult: Shape = result => withoutReservedMeta(result);

function contentBlock(raw: Json, server: string, budget: TextBudget): Json {
  const block = withoutReservedMeta(raw);
  if (block.type === 'text') return withText(block, budget);
  if (block.type === 'resource_link') return withUri(block, server);
  if (block.type === 'resource' && isJson(block.resource))
    return { ...block, resource: resourceText(block.resource, server, budget) };
  return block;
}

const resourceText = (raw: Json, server: string, budget: TextBudget): Json =>
  withUri(withText(withoutReservedMeta(raw), budget), server);

function withText(block: Json, budget: TextBudget): Json {
  if (typeof block.text !== 'string') return block;
  const text = budget.take(block.text);
  return text === block.text ? block : { ...block, text };
}

const withUri = (block: Json, server: string): Json =>
  typeof block.uri === 'string' ? { ...block, uri: exposedUri(server, block.uri) } : block;

/**
 * Structured content cannot be cut and stay valid. If it is too large it is left out and the result is an error, because clients
 * refuse a successful result without it.
 */
function withinBounds(result: Json, textBytes: number): Json {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || textBytes === Number.POSITIVE_INFINITY) return result;
  const size = Buffer.byteLength(JSON.stringify(structuredContent));
  if (size <= textBytes) return result;
  const content = Array.isArray(result.content) ? result.content : [];
  const text = `[cut by Squad: structured content of ${size} bytes is not shown; ask for less at a time]`;
  return { ...rest, content: [...content, { type: 'text', text }], isError: true };
}

/** The same list when no element was changed. */
function mapped(list: unknown, change: (element: Json) => Json): unknown {
  if (!Array.isArray(list)) return list;
  const next = list.map(element => (isJson(element) ? change(element) : element));
  return next.some((element, at) => element !== list[at]) ? next : list;
}

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
