import type { ComponentChildren } from 'preact';

/** Heading of a page with a short explanation. */
export function PageHead({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <header class="page-head">
      <h1>{title}</h1>
      <p class="soft">{children}</p>
    </header>
  );
}

/** Part of a page with its own heading. */
export function Section({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="page-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Loading({ text = 'Loading…' }: { text?: string }) {
  return (
    <p class="page-wait" role="status">
      {text}
    </p>
  );
}

/** A column name; `#` in front marks a column of numbers, which is aligned to the right. */
type Column = string | { name: ComponentChildren; class?: string };

/** A table whose rows become blocks on a narrow screen. */
export function Sheet({ columns, children }: { columns: readonly Column[]; children: ComponentChildren }) {
  return (
    <table class="sheet">
      <thead>
        <tr>
          {columns.map((column, index) => {
            if (typeof column !== 'string')
              return (
                <th key={index} scope="col" class={column.class}>
                  {column.name}
                </th>
              );
            const isNumber = column.startsWith('#');
            return (
              <th key={index} scope="col" class={isNumber ? 'num' : undefined}>
                {isNumber ? column.slice(1) : column}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
