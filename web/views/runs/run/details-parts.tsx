import type { ComponentChildren } from 'preact';

export function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="page-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
