/** Keys of `_meta` that belong to the protocol between two neighbours, and mean nothing, or something else, beyond them. */
const RESERVED = /^(progressToken$|([^/]*\.)?(modelcontextprotocol|mcp)(\.[^/]*)?\/)/;

/** The object without what its `_meta` says to our neighbour only. The same object when there is nothing of it. */
export function withoutReservedMeta<T extends Record<string, unknown>>(value: T): T {
  const meta = value._meta;
  if (meta === undefined) return value;
  const { _meta, ...rest } = value;
  if (typeof meta !== 'object' || meta === null) return rest as T;
  const kept = Object.entries(meta).filter(([key]) => !RESERVED.test(key));
  return (kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) }) as T;
}
