import type { ComponentChildren } from 'preact';
import { Command } from './copy.tsx';

/** Nothing there, and what to do about it. */
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
