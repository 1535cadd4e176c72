import type { Definition, GatewayView } from '../../src/core/ports/gateway.ts';

type Json = Record<string, unknown>;

/**
 * Removes the prefixes of the gateway from names and URIs in results, and adds them to requests, because the runner expects
 * the names of the reference server. Nothing else changes.
 */
export function withOwnNames(view: GatewayView, server: string): GatewayView {
  const [ofName, ofUri] = [`${server}__`, `${server}+`];
  const bare = (definition: Definition): Definition =>
    ({
      ...definition,
      ...(definition.name.startsWith(ofName) && { name: definition.name.slice(ofName.length) }),
      ...withoutPrefix(definition, 'uri', ofUri),
      ...withoutPrefix(definition, 'uriTemplate', ofUri),
    }) as Definition;
  const answer = (result: Json | null) => result && (bareUris(result, ofUri) as Json);
  return {
    tools: async () => (await view.tools()).map(bare),
    resources: async () => (await view.resources()).map(bare),
    resourceTemplates: async () => (await view.resourceTemplates()).map(bare),
    prompts: async () => (await view.prompts()).map(bare),
    takes: name => view.takes(ofName + name),
    isPlain: name => view.isPlain(ofName + name),
    notice: () => view.notice(),
    call: async (name, params, request) =>
      answer(await view.call(ofName + name, { ...params, name: ofName + name }, request)),
    readResource: async (uri, params, request) =>
      answer(await view.readResource(ofUri + uri, { ...params, uri: ofUri + uri }, request)),
    getPrompt: async (name, params, request) =>
      answer(await view.getPrompt(ofName + name, { ...params, name: ofName + name }, request)),
    complete: (params, request) => {
      const { type, name, uri } = params.ref as Record<string, string>;
      const ref = type === 'ref/prompt' ? { type, name: ofName + name } : { type, uri: ofUri + uri };
      return view.complete({ ...params, ref }, request);
    },
  };
}

function withoutPrefix(object: Json, key: string, prefix: string): Json {
  const value = object[key];
  return typeof value === 'string' && value.startsWith(prefix) ? { [key]: value.slice(prefix.length) } : {};
}

function bareUris(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map(element => bareUris(element, prefix));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, bareUris(inner, prefix)]);
  const object = Object.fromEntries(entries) as Json;
  return { ...object, ...withoutPrefix(object, 'uri', prefix) };
}
