import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser';

/** Takes elements out of a list somewhere in a JSON text; where there is no list, nothing happens. */
export function removeElements(text: string, path: string[], isOut: (value: unknown) => boolean): string {
  const tree = parseTree(text);
  const list = tree && findNodeAtLocation(tree, path);
  const nodes = (list?.type === 'array' && list.children) || [];
  const at = nodes.findIndex(node => isOut(getNodeValue(node)));
  const node = nodes[at];
  if (!node) return text;
  const [before, after] = [nodes[at - 1], nodes[at + 1]];
  // With the comma that would be left over, and the space around it.
  const from = !after && before ? before.offset + before.length : node.offset;
  const to = after ? after.offset : node.offset + node.length;
  return removeElements(text.slice(0, from) + text.slice(to), path, isOut);
}
