import { options, type VNode } from 'preact';
import { visibleText } from '../../src/base/text.ts';

const READ_OUT = ['title', 'aria-label', 'alt', 'placeholder'];

/** Makes hidden characters visible in every text and label that Preact draws. */
export function showHiddenCharacters(): void {
  const before = options.vnode;
  options.vnode = vnode => {
    // In Preact a text node has no type, and its props are the text.
    const node = vnode as { type: VNode['type'] | null; props: unknown };
    if (node.type === null && typeof node.props === 'string') node.props = visibleText(node.props);
    if (typeof node.type === 'string') showLabels(node.props as Record<string, unknown>);
    before?.(vnode);
  };
}

function showLabels(props: Record<string, unknown>): void {
  for (const name of READ_OUT) {
    const label = props[name];
    if (typeof label === 'string') props[name] = visibleText(label);
  }
}
