import type { ComponentChildren } from 'preact';
import { Command } from './copy.tsx';

/** Empty state with the next step. */
export function Empty({
  title,
  children,
  command,
}: {
  title: string;
  children?: ComponentChildren;
  command?: string;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      {command && <Command text={command} />}
    </div>
  );
}
