import { applyEdits as apply, findNodeAtLocation, getNodeValue, modify, parseTree } from 'jsonc-parser';

/** Takes elements out of a list somewhere in a JSON text; where there is no list, nothing happens. */
export function removeElements(text: string, path: string[], isOut: (value: unknown) => boolean): string {
  const tree = parseTree(text);
  const list = tree && findNodeAtLocation(tree, path);
  if (list?.type !== 'array') return text;
  const places = (list.children ?? []).flatMap((node, at) => (isOut(getNodeValue(node)) ? [at] : []));
  // From the end, so that the places before stay what they are.
  return places.reduceRight(
    (before, at) => apply(before, modify(before, [...path, at], undefined, {})),
    text,
  );
}
